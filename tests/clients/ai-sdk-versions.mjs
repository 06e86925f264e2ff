// Reads a chat with AI SDK 6, and with 7 with and without its header: node ai-sdk-versions.mjs FOLDER API. Prints the texts.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, api] = process.argv.slice(2);
const { resolve } = createRequire(`${folder}/package.json`);

async function read(name, headers) {
  const { DefaultChatTransport, readUIMessageStream } = await import(pathToFileURL(resolve(name)));
  const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hello" }] }];
  const stream = await new DefaultChatTransport({ api, headers }).sendMessages({
    chatId: crypto.randomUUID(), messages, trigger: "submit-message",
  });
  const [one, two] = stream.tee();
  let message;
  const reading = (async () => { for await (const state of readUIMessageStream({ stream: two, terminateOnError: true })) message = state; })();
  const types = [];
  for await (const chunk of one) types.push(chunk.type);
  await reading;
  return { texts: message.parts.filter((part) => part.type === "text").map((part) => part.text), types };
}

const version = { "x-ai-sdk-version": "7" };
console.log(JSON.stringify({ six: await read("ai"), seven: await read("ai-7"), header: await read("ai-7", version) }));
