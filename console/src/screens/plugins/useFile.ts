import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api/client";
import { getFile, saveFile, type FileText } from "../../api/plugins";
import { showToast } from "../../parts/toasts";
import type { ChangeDraft, PluginDrafts } from "./drafts";
import { useWorkbenchWords } from "./words";

export interface OpenFile {
  /** The draft, or the text of the file; null until it is there. */
  text: string | null;
  isEditable: boolean;
  isChanged: boolean;
  /** The folder does not have it yet. */
  isNew: boolean;
  isSaving: boolean;
  /** Why the file could not be read. */
  readError: Error | null;
  saveError: Error | null;
  /** The file in the folder, if it was changed since the draft was begun. */
  theirs: FileText | null;
  change: (text: string) => void;
  save: (force: boolean) => void;
  /** Drops the draft. */
  discard: () => void;
  /** Saves the draft over the file as it is now. */
  overwrite: () => void;
}

interface Props {
  plugin: string;
  /** Null reads nothing. */
  path: string | null;
  drafts: PluginDrafts;
  changeDraft: ChangeDraft;
}

interface Saving {
  path: string;
  text: string;
  etag: string | null;
  force: boolean;
}

/** The open file, with its draft. */
export function useFile({ plugin, path, drafts, changeDraft }: Props): OpenFile {
  const t = useWorkbenchWords();
  const queries = useQueryClient();
  const [conflict, setConflict] = useState<{ path: string; theirs: FileText } | null>(null);
  const draft = path === null ? undefined : drafts[path];
  const isNew = draft?.etag === null;
  const query = useQuery({
    queryKey: ["plugin-file", plugin, path],
    queryFn: () => getFile(plugin, path ?? ""),
    enabled: path !== null && !isNew,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  const stored = isNew ? null : (query.data ?? null);

  const mutation = useMutation({
    mutationFn: (one: Saving) => saveFile(plugin, one.path, one),
    onSuccess: (etag, one) => {
      queries.setQueryData(["plugin-file", plugin, one.path], { text: one.text, etag, editable: true });
      changeDraft(one.path, null);
      setConflict(null);
      void queries.invalidateQueries({ queryKey: ["plugins"] });
      showToast(t(one.force ? "editor.savedBroken" : "editor.saved"));
    },
    onError: async (error, one) => {
      if (!(error instanceof ApiError) || error.status !== 412) return;
      setConflict({ path: one.path, theirs: await getFile(plugin, one.path) });
    },
  });

  function change(text: string) {
    if (path === null) return;
    if (isNew) changeDraft(path, { text, etag: null });
    else if (stored) changeDraft(path, text === stored.text ? null : { text, etag: draft?.etag ?? stored.etag });
  }

  function discard() {
    if (path === null) return;
    changeDraft(path, null);
    setConflict(null);
    mutation.reset();
    void queries.invalidateQueries({ queryKey: ["plugin-file", plugin, path] });
  }

  function save(force: boolean, etag = draft?.etag) {
    if (path !== null && draft && etag !== undefined) mutation.mutate({ path, text: draft.text, etag, force });
  }

  const isForThis = mutation.variables?.path === path;
  return {
    text: draft?.text ?? stored?.text ?? null,
    isEditable: isNew || (stored?.editable ?? false),
    isChanged: draft !== undefined,
    isNew,
    isSaving: mutation.isPending,
    readError: isNew ? null : query.error,
    saveError: isForThis && draft ? mutation.error : null,
    theirs: conflict?.path === path && draft ? (conflict?.theirs ?? null) : null,
    change,
    save,
    discard,
    overwrite: () => save(false, conflict?.theirs.etag),
  };
}
