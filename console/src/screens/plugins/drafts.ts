/** Changed texts that were not saved, by user and plugin. They outlive the screen and a reload of the page. */
import { useState } from "react";
import { useMe } from "../../api/queries";
import { readInTab, storeInTab } from "../../settings";

export interface FileDraft {
  text: string;
  /** The hash of the file that it was made of; null for a new file. */
  etag: string | null;
}

/** By path. */
export type PluginDrafts = Record<string, FileDraft>;

const NONE: PluginDrafts = {};
const known = new Map<string, PluginDrafts>();

export type ChangeDraft = (path: string, draft: FileDraft | null) => void;

export function useDrafts(plugin: string): [PluginDrafts, ChangeDraft] {
  const [, redraw] = useState(0);
  const key = `rightseat.plugin ${JSON.stringify([useMe().data?.user, plugin])}`;
  const drafts = known.get(key) ?? load(key);

  function change(path: string, draft: FileDraft | null) {
    const others = Object.entries(known.get(key) ?? drafts).filter(([name]) => name !== path);
    const next = Object.fromEntries(draft ? [...others, [path, draft] as const] : others);
    known.set(key, next);
    storeInTab(key, Object.keys(next).length > 0 ? next : undefined);
    redraw((count) => count + 1);
  }
  return [drafts, change];
}

function load(key: string): PluginDrafts {
  const drafts = (readInTab(key) as PluginDrafts | undefined) ?? NONE;
  known.set(key, drafts);
  return drafts;
}

export const textsOf = (drafts: PluginDrafts): Record<string, string> =>
  Object.fromEntries(Object.entries(drafts).map(([path, draft]) => [path, draft.text]));
