/** Calls the face `operator`, which is beside the console at whatever path a proxy gives them. */
import type { Entry } from "../log/events";
import type { Refusal, SignedOut, StoppedRun } from "./schema";
import type {
  Agent,
  Answer,
  Approval,
  FailureList,
  FilePart,
  FlowLine,
  Me,
  Provider,
  RunAnswer,
  RunDetails,
  RunPage,
  RunQuery,
  ServerGraph,
  ThreadAnswer,
  ThreadLine,
  ThreadPage,
  ThreadQuery,
} from "./types";

export const API_URL = new URL("../operator/", document.baseURI).href;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Of the status 401: the identity provider to sign in with. */
    readonly provider: Provider | null = null,
  ) {
    super(message);
  }
}

/** The answer of a server that cannot be reached. */
export const UNREACHABLE = "unreachable";

interface Options {
  method?: string;
  body?: unknown;
  key?: string;
  /** The code that `rightseat serve` printed. */
  setupCode?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Whether the request outlives the page. */
  keepalive?: boolean;
}

export async function send(
  path: string,
  { method = "GET", body, key, setupCode, headers = {}, ...more }: Options = {},
): Promise<Response> {
  headers = { ...headers };
  if (method !== "GET") Object.assign(headers, { "content-type": "application/json", "x-rightseat": "1" });
  if (key) headers.authorization = `Bearer ${key}`;
  if (setupCode) headers["x-rightseat-setup"] = setupCode;
  const request = { method, headers, ...more, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(API_URL + path, request).catch((error: unknown) => {
    if (more.signal?.aborted) throw error;
    throw new ApiError(0, UNREACHABLE, String(error));
  });
  if (!response.ok) throw await readError(response);
  return response;
}

async function readError(response: Response): Promise<ApiError> {
  const fallback = { error: "http_error", message: `HTTP ${response.status}`, sign_in: null };
  const { error, message, sign_in } = await response.json().then(
    (body: Partial<Refusal>) => ({ ...fallback, ...body }),
    () => fallback,
  );
  return new ApiError(response.status, error, message, sign_in);
}

export async function call<T>(path: string, options?: Options): Promise<T> {
  return (await send(path, options)).json() as Promise<T>;
}

const id = encodeURIComponent;

let provider: Provider | null = null;

/** The identity provider that the server named last, for a sign-in screen that follows the end of a session too. */
export const knownProvider = () => provider;

/** The signed-in user, or null if the server wants a key. */
export async function getMe(): Promise<Me | null> {
  try {
    const me = await call<Me>("me");
    provider = me.sign_in ?? null;
    return me;
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
    provider = error.provider;
    return null;
  }
}

export const signIn = (key: string) => send("session", { method: "POST", key });

/** The address of the identity provider that ends the session there too, or null. */
export async function signOut(): Promise<string | null> {
  const response = await send("session", { method: "DELETE" });
  return response.status === 204 ? null : ((await response.json()) as SignedOut).continue;
}

export const getAgents = (language: string) => call<Agent[]>(`agents?${encodeQuery({ language })}`);
/** Agents whose runs the user may see. */
export const getWatchedAgents = () => call<Agent[]>("agents?right=watch");
export const getFailures = (window: string) => call<FailureList>(`failures?${encodeQuery({ window })}`);
export const getThread = (thread: string) => call<ThreadAnswer>(`threads/${id(thread)}`);

export const getThreads = (query: ThreadQuery & PageQuery, signal?: AbortSignal) =>
  call<ThreadPage>(`threads?${encodeQuery(query)}`, { signal });
export const getRuns = (query: RunQuery & PageQuery, signal?: AbortSignal) =>
  call<RunPage>(`runs?${encodeQuery(query)}`, { signal });
export const changeThread = (thread: string, change: { name?: string; archived?: boolean }) =>
  call<ThreadLine>(`threads/${id(thread)}`, { method: "PATCH", body: change });
export const deleteThread = (thread: string) =>
  send(`threads/${id(thread)}`, { method: "DELETE", body: {}, keepalive: true });

interface PageQuery {
  after?: string;
  limit: number;
}

function encodeQuery(query: object): string {
  const known = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
}

export const getRun = (run: string) => call<RunDetails>(`runs/${id(run)}`);
export const getFlows = () => call<FlowLine[]>("flows");
/** Without a digest the current version. */
export const getFlow = (plugin: string, flow: string, digest?: string) =>
  call<ServerGraph>(`flows/${id(plugin)}/${id(flow)}?${encodeQuery({ digest })}`);

export const getApprovals = (owner: string) => call<Approval[]>(`approvals?${encodeQuery({ owner })}`);
export const stopRun = (run: string) => call<StoppedRun>(`runs/${id(run)}/stop`, { method: "POST", body: {} });

export const answerApproval = (approval: string, answer: Answer) =>
  call<RunAnswer>(`approvals/${id(approval)}`, { method: "POST", body: answer });

/** `replaces` is a message of the user, which is asked anew; without a text just as it is. */
export const startRun = (
  agent: string,
  body: { thread?: string; text?: string; parts?: FilePart[]; replaces?: string },
) => call<RunAnswer>(`agents/${id(agent)}/runs`, { method: "POST", body });

export async function getEntries(run: string): Promise<Entry[]> {
  const text = await (await send(`runs/${id(run)}/entries`)).text();
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => ({ run, ...(JSON.parse(line) as Omit<Entry, "run">) }));
}

export const fileUrl = (file: string) => `${API_URL}files/${id(file)}`;
/** An HTML file as a page without scripts and without an origin. */
export const pageUrl = (file: string) => `${fileUrl(file)}?as=page`;
export const chartUrl = (chart: string) => `${fileUrl(chart)}.svg`;
