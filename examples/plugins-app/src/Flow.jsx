// What a flow tells while it runs: AG-UI's steps, and rightseat's own events `flow.…` and `artifact`.
import { useAgent, useConfigureSuggestions } from "@copilotkit/react-core/v2";
import { useEffect, useReducer } from "react";

const FIRST = [
  "What will the weather be in Hangzhou, for 3 days?",
  "Chart the revenue of 2025 by region",
  "Scan the host db-01",
].map((one) => ({ title: one, message: one }));
const WAITING = "waiting for you";
const EMPTY = { flow: "", steps: [], artifacts: [], status: "" };

export function Flow() {
  const { agent } = useAgent();
  const [seen, take] = useReducer(reduce, EMPTY);

  useEffect(() => {
    const { unsubscribe } = agent.subscribe({ onCustomEvent: ({ event }) => take(event) });
    return unsubscribe;
  }, [agent]);

  useConfigureSuggestions({ suggestions: FIRST, available: "before-first-message" });
  // The server answers with what the last flow suggests. It asks no model, so nothing reads the instructions.
  useConfigureSuggestions({ instructions: "What the last flow suggests.", available: "after-first-message" });

  return (
    <aside data-running={agent.isRunning}>
      <h2>{seen.flow || "No flow yet"}</h2>
      <ol>
        {seen.steps.map((one, place) => (
          <li key={place} data-state={one.state}>
            <b>{one.step}</b> <span>{one.call}</span>
            {one.note && <p>{one.note}</p>}
          </li>
        ))}
      </ol>
      {seen.status && <p className="status" data-testid="status">{seen.status}</p>}
      {seen.artifacts.map((one) => (
        <p key={one.id} className="file">
          <a href={one.kind === "chart" ? `${one.url}.png` : one.url} data-testid="file">{one.name}</a> {one.kind}
        </p>
      ))}
    </aside>
  );
}

function reduce(seen, { name, value }) {
  if (name === "flow.chosen") return value.flow ? EMPTY : seen;
  if (name === "flow.started") return { ...EMPTY, flow: `${value.plugin.id}.${value.flow}` };
  if (name === "flow.step") return { ...seen, steps: stepped(seen.steps, value), status: waiting(value) };
  if (name === "artifact" && !seen.artifacts.some((one) => one.id === value.id)) {
    return { ...seen, artifacts: [...seen.artifacts, value] };
  }
  if (name === "flow.finished") return { ...seen, status: value.status };
  return seen;
}

function stepped(steps, { event, step, call, value }) {
  const last = steps.at(-1);
  const note = value?.error?.message ?? (value?.method ? `${value.method} ${value.path}` : value?.message);
  const now = { step, call, state: event, note: note || last?.note };
  return last?.step === step && last.state !== "output" ? [...steps.slice(0, -1), now] : [...steps, { ...now, note }];
}

function waiting({ event }) {
  return event === "waiting" ? WAITING : "";
}
