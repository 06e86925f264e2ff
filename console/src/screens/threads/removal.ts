/** Threads that were deleted or archived here: lists hide them at once, and show them again if it is taken back. */
import { useSyncExternalStore } from "react";
import { changeThread, deleteThread } from "../../api/client";
import { queryClient } from "../../api/queryClient";
import { showToast } from "../../parts/toasts";
import type { Translate } from "../../words";
import { removeRow, type ListRow, type Pages } from "./pages";

let hidden: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

export const useHiddenThreads = () => useSyncExternalStore(subscribe, () => hidden);

/** The server deletes it when it can no longer be undone. */
export function deleteLater(id: string, name: string, t: Translate): void {
  setHidden(id, true);
  showToast(t("threads.deleted", { name }), {
    undo: () => setHidden(id, false),
    onEnd: () =>
      void deleteThread(id).then(
        () => drop(id),
        (error: Error) => fail(id, error, t("threads.deleteFailed", { name })),
      ),
  });
}

export async function setArchived(id: string, name: string, archived: boolean, t: Translate): Promise<void> {
  setHidden(id, true);
  try {
    await changeThread(id, { archived });
  } catch (error) {
    return fail(id, error as Error, t("threads.changeFailed", { name }));
  }
  showToast(t(archived ? "threads.archivedToast" : "threads.unarchivedToast", { name }), {
    undo: () => {
      setHidden(id, false);
      void changeThread(id, { archived: !archived }).catch((error: Error) =>
        showToast(`${t("threads.changeFailed", { name })} ${error.message}`, { isProblem: true }),
      );
    },
    onEnd: () => drop(id),
  });
}

function drop(id: string): void {
  queryClient.setQueriesData<Pages<ListRow>>({ queryKey: ["threads"] }, (pages) => pages && removeRow(pages, id));
  setHidden(id, false);
}

function fail(id: string, error: Error, text: string): void {
  setHidden(id, false);
  showToast(`${text} ${error.message}`, { isProblem: true });
}

function setHidden(id: string, isHidden: boolean): void {
  const next = new Set(hidden);
  if (isHidden) next.add(id);
  else next.delete(id);
  hidden = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
