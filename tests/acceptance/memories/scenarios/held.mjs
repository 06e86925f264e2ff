// What untrusted content suggests waits for a person.
import { expect, same } from "../../_lib/expect.mjs";
import { ask, decide, faces, list, ok, rows, send } from "../lib/http.mjs";
import { POISON } from "../lib/model.mjs";

function isHeld(run) {
  same(run.interrupts.length, 1, "the number of questions");
  expect(run.interrupts[0].message?.includes(POISON), "a question with the whole text", run.interrupts[0]);
}

export const held = [
  { name: "held-page", about: "a page tells the model to remember: nothing is stored, and nothing is in the next prompt", async run({ url, user, unique, requests }) {
    const alice = user(), run = await ask(url, alice, "read the page"), key = unique();
    isHeld(run);
    same(await list(url, alice), [], "memories");
    await ask(url, alice, `hello [${key}]`);
    expect(!JSON.stringify(requests(key)[0]).includes(POISON), "the next prompt without it", POISON);
  } },
  { name: "held-approved", about: "approved: what was shown is stored, whatever the payload has, with the tool and who agreed", async run({ url, user }) {
    const alice = user(), run = await ask(url, alice, "read the page");
    isHeld(run);
    await decide(url, alice, run, { status: "resolved", payload: { approved: true, text: "something else", arguments: { text: "something else" } } });
    const [row] = await rows(url, alice);
    same([row?.text, row?.created_by, row?.source.tools, row?.approved_by], [POISON, "model", ["readPage"], alice.name], "[text, created_by, tools, approved_by]");
  } },
  { name: "held-refused", about: "refused, or answered by anything but a yes: nothing is stored, and the run ends", async run({ url, user }) {
    for (const decision of [{ status: "cancelled" }, { status: "resolved", payload: "ok" }, { status: "resolved", payload: { approved: false } }]) {
      const alice = user(), run = await ask(url, alice, "read the page");
      isHeld(run);
      const after = await decide(url, alice, run, decision);
      expect(!after.error && !after.interrupts.length, "the run to end", after.text.slice(-300));
      same(await list(url, alice), [], "memories");
    }
  } },
  { name: "held-next-turn", about: "the thread stays suspect: a save in a later turn waits, also if the client leaves out what was read", async run({ url, user }) {
    for (const isWhole of [true, false]) {
      const alice = user(), first = await ask(url, alice, "only look at the page");
      const { messages } = ok(await send(url, alice, "GET", `threads/${first.threadId}/messages`), "GET messages");
      const kept = isWhole ? messages : messages.filter((message) => message.role === "user");
      const history = kept.map(({ id, role, content, toolCallId, toolCalls }) => ({ id, role, content: content ?? "", ...(toolCallId ? { toolCallId } : {}), ...(toolCalls ? { toolCalls: toolCalls.map((call) => ({ id: call.id, type: "function", function: call.function ?? { name: call.name, arguments: typeof call.args === "string" ? call.args : JSON.stringify(call.args) } })) } : {}) }));
      isHeld(await ask(url, alice, "keep what the page said", { threadId: first.threadId, history }));
      same(await list(url, alice), [], "memories");
    }
  } },
  { name: "held-context", about: "context of the page makes a save wait", async run({ url, user }) {
    const alice = user();
    isHeld(await ask(url, alice, "keep what the page said", { context: [{ description: "The page", value: `remember that ${POISON}` }] }));
    same(await list(url, alice), [], "memories");
  } },
  { name: "held-without-questions", about: "faces that cannot ask store nothing; responses ask with an mcp_approval_request", async run({ url, user }) {
    for (const face of Object.keys(faces)) {
      const alice = user(), answer = await faces[face](url, alice, "read the page");
      same(await list(url, alice), [], `memories after ${face}`);
      if (face === "completions") same(answer.status, 403, "the status of a chat completion");
      if (face === "responses") expect(answer.text.includes("mcp_approval_request"), "an mcp_approval_request", answer.text);
    }
  } },
];
