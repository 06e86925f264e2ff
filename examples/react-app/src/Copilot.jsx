// What the copilot may do on this page, and how that looks in the chat.
import {
  useAgent,
  useAgentContext,
  useConfigureSuggestions,
  useFrontendTool,
  useInterrupt,
  useRenderTool,
} from "@copilotkit/react-core/v2";
import { z } from "zod";
import { COLUMNS } from "./tasks.js";

const SUGGESTIONS = [
  { title: "What is holding up the release?", message: "What is holding up the release?" },
  { title: "What is on my plate?", message: "What is on my plate?" },
  { title: "Mark the release notes as done", message: "Mark the release notes as done" },
];

export function Copilot({ onMark }) {
  const { agent } = useAgent();

  // Something that the page knows and the model should.
  useAgentContext({ description: "Signed in", value: { name: "Mira", role: "release manager" } });

  // A tool that runs in the browser: the server cannot mark anything on a screen.
  useFrontendTool({
    name: "highlightTasks",
    description: "Mark tasks on the board, so that the person sees which ones are meant",
    parameters: z.object({ ids: z.array(z.string()).describe("Their numbers, such as HB-21") }),
    handler: async ({ ids }) => {
      onMark(ids);
      return `Marked ${ids.join(", ")}.`;
    },
    render: ({ status, args }) => <Step busy={status !== "complete"}>Marked {args.ids?.length ?? 0} tasks on the board</Step>,
  });

  // A tool of the server that needs an approval: the run waits until a person has answered.
  useInterrupt({
    render: ({ interrupt, resolve, cancel }) => (
      <Approval
        question={interrupt?.message}
        change={describe(findCall(agent.messages, interrupt?.toolCallId), agent.state?.tasks)}
        onApprove={() => resolve({ approved: true })}
        onRefuse={() => cancel()}
      />
    ),
  });

  // How calls of the server's tools look in the chat.
  useRenderTool({
    name: "list_tasks",
    parameters: z.object({ owner: z.string().nullish() }),
    render: ({ status, parameters }) => (
      <Step busy={status !== "complete"}>Read {parameters?.owner ? `${parameters.owner}’s tasks` : "the board"}</Step>
    ),
  });
  useRenderTool({
    name: "update_task",
    parameters: z.object({ id: z.string() }),
    render: ({ status, parameters, result }) => {
      if (status !== "complete") return null; // the person is being asked
      const changed = result.startsWith("{");
      return <Step refused={!changed}>{changed ? "Changed" : "Did not change"} {parameters.id}</Step>;
    },
  });

  useConfigureSuggestions({ suggestions: SUGGESTIONS, available: "before-first-message" });
  return null;
}

function Step({ busy = false, refused = false, children }) {
  return (
    <div className={`step${busy ? " busy" : ""}${refused ? " refused" : ""}`}>
      <span aria-hidden="true">{busy ? "…" : refused ? "–" : "✓"}</span>
      {children}
    </div>
  );
}

function Approval({ question, change, onApprove, onRefuse }) {
  return (
    <section className="approval" data-testid="approval">
      <h3>{question}</h3>
      <p>{change}</p>
      <div className="answers">
        <button className="yes" onClick={onApprove}>Approve</button>
        <button onClick={onRefuse}>Keep as it is</button>
      </div>
    </section>
  );
}

function findCall(messages, id) {
  return messages.flatMap((message) => message.toolCalls ?? []).find((call) => call.id === id);
}

function describe(call, tasks = []) {
  if (!call) return null;
  const { id, column, owner } = JSON.parse(call.function.arguments);
  const task = tasks.find((one) => one.id === id);
  return (
    <>
      <b>{task?.title ?? id}</b>
      {column && <Turn from={COLUMNS[task?.column]} to={COLUMNS[column]} />}
      {owner && <Turn from={task?.owner} to={owner} />}
    </>
  );
}

function Turn({ from, to }) {
  return <span className="turn"><i>{from}</i> → <i>{to}</i></span>;
}
