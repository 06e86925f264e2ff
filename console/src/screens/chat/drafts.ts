/** What was typed and not sent, by user and thread. It outlives the screen and a reload of the page. */
import { useState } from "react";
import { useMe } from "../../api/queries";
import type { FilePart } from "../../api/types";
import { readInTab, storeInTab } from "../../settings";

export interface Draft {
  text: string;
  files: FilePart[];
  /** Whether a reload has lost attachments that were too large to store. */
  hasLostFiles?: boolean;
}

const EMPTY: Draft = { text: "", files: [] };
const drafts = new Map<string, Draft>();

export function useDraft(thread: string | null): [Draft, (change: Partial<Draft>) => void] {
  const [, redraw] = useState(0);
  const key = `rightseat.draft ${JSON.stringify([useMe().data?.user, thread])}`;
  const draft = drafts.get(key) ?? load(key);

  function change(changed: Partial<Draft>) {
    const next = { ...(drafts.get(key) ?? draft), hasLostFiles: false, ...changed };
    drafts.set(key, next);
    store(key, next);
    redraw((count) => count + 1);
  }
  return [draft, change];
}

function load(key: string): Draft {
  const draft = { ...EMPTY, ...(readInTab(key) as Partial<Draft> | undefined) };
  drafts.set(key, draft);
  return draft;
}

function store(key: string, { text, files }: Draft): void {
  if (text === "" && files.length === 0) storeInTab(key, undefined);
  else if (!storeInTab(key, { text, files })) storeInTab(key, { text, files: [], hasLostFiles: true });
}
