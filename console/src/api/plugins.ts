/** The plugins of the server, and drafts of their files. */
import type { Json, LogEvent } from "../log/events";
import { call, send } from "./client";
import { readLines } from "./lines";
import type * as Api from "./schema";
import type { Narrow, ServerGraph } from "./types";

/** `outdated`: the files have errors, and an earlier version stays active. */
type PluginState = "active" | "outdated" | "broken";

export type PluginReport = Narrow<Api.PluginReport, { state: PluginState; problems: Problem[] }>;
export type PluginFile = Api.PluginFile;
export type Problem = Narrow<Api.PluginProblem, { severity: "error" | "warning" | "information" }>;

export interface FileText {
  text: string;
  etag: string;
  editable: boolean;
}

/** Texts by path. */
export type DraftFiles = Record<string, string>;

export type DraftReport = Narrow<
  Api.DraftReport,
  { problems: Problem[]; flows: { file: string; graph: ServerGraph }[] }
>;
export type CaseOutcome = Api.CaseOutcome;

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
  call<Narrow<Api.NewPlugin, { plugin: PluginReport }>>("plugins", { method: "POST", body: plugin });

export const checkDraft = (plugin: string, files: DraftFiles, signal: AbortSignal) =>
  call<DraftReport>("drafts/check", { method: "POST", body: { plugin, files }, signal });

export const runCases = (plugin: string, files: DraftFiles) =>
  call<CaseOutcome[]>("drafts/cases", { method: "POST", body: { plugin, files } });

export interface DryRun {
  plugin: string;
  files: DraftFiles;
  flow: string;
  question: string;
  /** To what the flow asks, in its order. */
  answers: DryAnswer[];
}

export interface DryAnswer {
  status: "resolved" | "cancelled";
  payload: Json;
}

/** Hands over the events of a dry run as they come. */
export const tryFlow = (run: DryRun, onEvent: (event: LogEvent) => void, signal: AbortSignal) =>
  readLines("drafts/try", run, onEvent, signal);
