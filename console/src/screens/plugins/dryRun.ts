/** Folds the events of a dry run into its steps, with the requests that they would send. */
import type { Json, JsonObject, LogEvent } from "../../log/events";

export interface DryStep {
  name: string;
  call: string;
  message: string;
  /** What an `api` step would send. */
  request: DryRequest | null;
  /** What another step records, such as a statement or a prompt. */
  record: Json;
  output: Json;
  error: string | null;
}

export interface DryRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Json;
}

export interface DryRunState {
  steps: DryStep[];
  answer: string;
  /** What the flow asks the user. */
  question: { message: string; schema: Json } | null;
  /** `succeeded`, `failed` …; null while it runs. */
  status: string | null;
  failure: string | null;
}

export const NO_STEPS: DryRunState = { steps: [], answer: "", question: null, status: null, failure: null };

export function foldDryRun(state: DryRunState, event: LogEvent): DryRunState {
  switch (event.type) {
    case "StepStarted":
      return { ...state, steps: [...state.steps, startStep(event.name)] };
    case "TextDelta":
      return { ...state, answer: state.answer + event.text };
    case "RunFinished": {
      const asked = event.interrupts?.[0];
      return asked ? { ...state, question: { message: asked.message ?? "", schema: asked.schema ?? null } } : state;
    }
    case "RunFailed":
      return { ...state, failure: event.message };
    case "Custom":
      return foldCustom(state, event.name, event.value);
    default:
      return state;
  }
}

const startStep = (name: string): DryStep => ({
  name,
  call: "",
  message: "",
  request: null,
  record: null,
  output: null,
  error: null,
});

function foldCustom(state: DryRunState, name: string, value: Json): DryRunState {
  if (!isObject(value)) return state;
  if (name === "flow.finished") return { ...state, status: String(value.status ?? "") };
  const last = state.steps.at(-1);
  if (name !== "flow.step" || !last) return state;
  return { ...state, steps: [...state.steps.slice(0, -1), changeStep(last, value)] };
}

function changeStep(step: DryStep, { event, call, value }: JsonObject): DryStep {
  const named = { ...step, call: typeof call === "string" ? call : step.call };
  if (!isObject(value)) return named;
  if (event === "failed" && isObject(value.error)) {
    return { ...named, error: `${String(value.error.code)}: ${String(value.error.message)}` };
  }
  if (event !== "output") return named;
  const record = isObject(value.record) ? value.record : {};
  const request = readRequest(record.request ?? null);
  const hasRecord = request === null && Object.keys(record).length > 0;
  const message = typeof value.message === "string" ? value.message : "";
  return { ...named, message, request, record: hasRecord ? record : null, output: value.output ?? null };
}

function readRequest(value: Json): DryRequest | null {
  if (!isObject(value) || typeof value.method !== "string" || typeof value.url !== "string") return null;
  const headers = isObject(value.headers) ? Object.entries(value.headers) : [];
  return {
    method: value.method,
    url: value.url,
    headers: Object.fromEntries(headers.map(([name, text]) => [name, String(text)])),
    body: value.body ?? null,
  };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
