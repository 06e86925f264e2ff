// Reads questions as JSON lines and answers each with one line: what AG-UI's own client makes of some events.
//   node judge.mjs FOLDER < questions     FOLDER has the clients in its node_modules
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const need = createRequire(path.join(process.argv[2], "package.json"));
const { from, lastValueFrom, toArray } = need("rxjs");
const patches = need("fast-json-patch");
const clients = { "0.0.59": need("ag-ui-client-0"), "1.0": need("ag-ui-client-1") };
const schemas = {
  "0.0.59": (event) => clients["0.0.59"].EventSchemas.safeParse(event),
  "1.0": (event) => modern.EventSchema.safeParse(event),
};
const modern = createRequire(need.resolve("ag-ui-client-1"))("@ag-ui/core/schemas");

// The clients talk to the console; the answers do not go through it.
console.log = console.warn = console.error = console.debug = () => {};

const all = (events) => lastValueFrom(events.pipe(toArray()));

const answers = {
  /** Are they in order? */
  verify: (client, { events }) => all(client.verifyEvents(false)(from(events))),
  /** Chunks spelt out. */
  expand: (client, { events }) => all(client.transformChunks(false)(from(events))),
  compact: (client, { events }) => client.compactEvents(events),
  /** What an application sees in the end. */
  async apply(client, { events, messages = [], state = {} }) {
    const agent = { messages, state };
    const input = { threadId: "t", runId: "r", messages, state, tools: [], context: [], forwardedProps: {} };
    for (const change of await all(client.defaultApplyEvents(input, from(events), agent, []))) Object.assign(agent, change);
    return { messages: agent.messages, state: agent.state };
  },
  /** The events that its schema refuses. */
  parse: (_, { events, version }) => events.flatMap((event) => {
    const parsed = schemas[version](event);
    return parsed.success ? [] : [{ event, issues: parsed.error.issues }];
  }),
  patch: (_, { document, operations }) => patches.applyPatch(document, operations, true, false).newDocument,
};

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  let answer;
  try { answer = JSON.stringify({ is: (await answers[question.do](clients[question.version], question)) ?? null }); }
  catch (error) { answer = JSON.stringify({ error: String(error.message ?? error) }); }
  process.stdout.write(answer + "\n");
}
