// The same through the older and the newer releases of the client.
import { input, setColor, user } from "../lib/client.mjs";
import { growth, outline, same, succeeded, that } from "../lib/expect.mjs";

const works = (client) => ({
  name: client,
  about: `@copilotkit/runtime-client-gql ${client.slice(7)}: text and actions of both sides`,
  async run({ driver }) {
    const text = await driver.chat("/plain", input("paced", [user("Hi")]), { client });
    succeeded(text);
    same("text", text.text, "one two three four five six seven eight");
    that("steps in which the text grew", growth(text) >= 4, "at least 4", growth(text));
    const both = await driver.chat("/plain", input("text-then-tool", [user("red")], { actions: [setColor] }), { client });
    succeeded(both);
    same("text and call", outline(both), ["text assistant Let me do that. [Success]", 'call setColor {"color":"red"} [Success]']);
    const server = await driver.chat("/actions", input("server-tool", [user("Oslo?")]), { client });
    succeeded(server);
    same("call and result", server.messages.map(({ type }) => type), ["ActionExecutionMessage", "ResultMessage"]);
  },
});

const talksToAgents = (client) => ({
  name: `${client}-agent`,
  about: `@copilotkit/runtime-client-gql ${client.slice(7)}: an agent of a remote endpoint, and the list of agents`,
  async run({ driver }) {
    const agent = await driver.chat("/fakeremote", input("text", [user("go")], { agentSession: { agentName: "crew" } }), { client });
    succeeded(agent);
    same("text of an agent", agent.text, "Crew done");
    const list = await driver.agents("/fakeremote", { client });
    same("agents", list.agents?.map(({ name }) => name).sort(), ["ckint", "crew"]);
  },
});

const unwarned = (client) => ({
  name: `${client}-no-version-warning`,
  about: `the ${client.slice(7)} client does not warn its developer of a version mismatch`,
  beyond: "the peer announces its own version, and every other client warns",
  async run({ driver }) {
    const run = await driver.chat("/plain", input("text", [user("Hi")]), { client });
    succeeded(run);
    same("warnings", run.warnings, []);
  },
});

export default ["client-1.8.14", "client-1.74.0"].flatMap((client) => [works(client), talksToAgents(client), unwarned(client)]);
