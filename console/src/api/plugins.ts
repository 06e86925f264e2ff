/** The plugins of the server, and drafts of their files. */
import type { LogEvent } from "../log/events";
import type { FlowGraph } from "../log/flowGraph";
import { ApiError, call, send } from "./client";

export interface PluginReport {
  id: string;
  name: string;
  version: string;
  digest: string;
  /** `outdated`: the files have errors, and an earlier version stays active. */
  state: "active" | "outdated" | "broken";
  contacts: string[];
  private: { target: string; allowed: boolean }[];
  secrets: { name: string; set: boolean }[];
  users: string[] | null;
  lib: { digest: string; allowed: boolean } | null;
  files: PluginFile[];
  problems: Problem[];
}

export interface PluginFile {
  path: string;
  size: number;
  editable: boolean;
}

export interface Problem {
  code: string;
  severity: "error" | "warning" | "information";
  file: string;
  /** From 1; 0 for a whole file. */
  line: number;
  column: number;
  message: string;
  hint: string;
  /** The text at that place, and what it should probably be. */
  found: string;
  suggestion: string;
}

export interface FileText {
  text: string;
  etag: string;
  editable: boolean;
}

/** Texts by path. */
export type DraftFiles = Record<string, string>;

export interface DraftReport {
  problems: Problem[];
  /** Empty if the draft has errors. `file` is empty for a flow that was made of an operation. */
  flows: { file: string; graph: FlowGraph }[];
  milliseconds: number;
}

export interface CaseOutcome {
  name: string;
  passed: boolean;
  differences: string[];
}

const id = encodeURIComponent;
const fileRoute = (plugin: string, path: string) =>
  `plugins/${id(plugin)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

export const getPlugins = () => call<PluginReport[]>("plugins");

export async function getFile(plugin: string, path: string): Promise<FileText> {
  const response = await send(fileRoute(plugin, path));
  return {
    text: await response.text(),
    etag: response.headers.get("etag") ?? "",
    editable: response.headers.get("x-editable") === "1",
  };
}

/**
 * The new hash of the file; a file without a hash is new. The status of an error is 412 if the file was changed or created
 * meanwhile, and 422 for errors in it.
 */
export async function saveFile(
  plugin: string,
  path: string,
  file: { text: string; etag: string | null; force: boolean },
) {
  const response = await send(`${fileRoute(plugin, path)}${file.force ? "?force=1" : ""}`, {
    method: "PUT",
    body: { text: file.text },
    headers: file.etag === null ? { "if-none-match": "*" } : { "if-match": file.etag },
  });
  return response.headers.get("etag") ?? "";
}

/** The plugin, and what is hard for a model in its document. Without a document it is a starter plugin. */
export const createPlugin = (plugin: { id: string; openapi?: string }) =>
  call<{ plugin: PluginReport; advice: string[] }>("plugins", { method: "POST", body: plugin });

export const checkDraft = (plugin: string, files: DraftFiles, signal: AbortSignal) =>
  call<DraftReport>("drafts/check", { method: "POST", body: { plugin, files }, signal });

export const runCases = (plugin: string, files: DraftFiles) =>
  call<CaseOutcome[]>("drafts/cases", { method: "POST", body: { plugin, files } });

export interface DryRun {
  plugin: string;
  files: DraftFiles;
  flow: string;
  question: string;
}

/** Hands over the events of a dry run as they come. */
export async function tryFlow(run: DryRun, onEvent: (event: LogEvent) => void, signal: AbortSignal): Promise<void> {
  const response = await send("drafts/try", { method: "POST", body: run, signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const piece = await reader?.read();
    if (!piece || piece.done) break;
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onEvent(JSON.parse(line) as LogEvent);
  }
  if (rest !== "") throw new ApiError(0, "cut_off", rest);
}
