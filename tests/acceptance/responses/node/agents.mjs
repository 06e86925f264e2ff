// OpenAI's Agents SDK for JavaScript against the judged server: node agents.mjs PART BASE [KEY OR LABEL]; prints one line of JSON.
import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, hostedMcpTool, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);
const [part, baseURL, key] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "sk-none", maxRetries: 0, timeout: 30_000 });
const runner = new Runner();
const lookup = tool({ name: "lookup", description: "Look something up.", parameters: z.object({ q: z.string() }), execute: async ({ q }) => "found " + q });
const note = tool({ name: "note", description: "Write down.", parameters: z.object({ text: z.string() }), execute: async ({ text }) => "noted " + text });
const makeAgent = (options, model = "default") => new Agent({ name: "One", instructions: "Be one.", model: new OpenAIResponsesModel(client, model), ...options });

const parts = {
  async tools() {
    const agent = makeAgent({ tools: [lookup, note] });
    const plain = await runner.run(agent, "parallel");
    const streamed = await runner.run(agent, "parallel", { stream: true });
    const types = [];
    for await (const event of streamed) types.push(event.type === "raw_model_stream_event" ? event.data.type : event.type);
    return { plain: plain.finalOutput, streamed: streamed.finalOutput, types, tokens: plain.runContext.usage.totalTokens };
  },
  async stop() {
    const leaving = new AbortController();
    const streamed = await runner.run(makeAgent(), `slow [${key}]`, { stream: true, signal: leaving.signal });
    let text = "";
    try {
      for await (const event of streamed) {
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") text += event.data.delta;
        if (text.includes("tick2")) leaving.abort();
      }
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1500)); // the server must notice the abort, not the end of this process
    return { text };
  },
  async handoff() {
    const second = makeAgent({ name: "Second", instructions: "Be the second." });
    const first = makeAgent({ name: "First", instructions: "Be the first.", handoffs: [second] });
    const { lastAgent, finalOutput } = await runner.run(first, `hand over [${key}]`);
    return { last: lastAgent.name, text: finalOutput };
  },
  async stored() {
    const agent = makeAgent({ tools: [lookup, note] });
    const first = await runner.run(agent, "my name is Ada");
    const chained = await runner.run(agent, "recall", { previousResponseId: first.lastResponseId });
    const session = new OpenAIConversationsSession({ client });
    await runner.run(agent, "parallel", { session });
    const talked = await runner.run(agent, "recall", { session });
    return { chained: chained.finalOutput, talked: talked.finalOutput };
  },
  async approval() {
    const answered = async (approve) => {
      const hosted = hostedMcpTool({ serverLabel: key, serverUrl: "http://127.0.0.1:9/none", requireApproval: "always", onApproval: async () => ({ approve, reason: "as told" }) });
      return (await runner.run(makeAgent({ tools: [hosted] }, "helper"), "approve")).finalOutput;
    };
    return { yes: await answered(true), no: await answered(false) };
  },
};
console.log(JSON.stringify(await parts[part]()));
