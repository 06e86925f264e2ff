import { useEffect, useState } from "react";
import { checkDraft, type DraftFiles, type DraftReport } from "../../api/plugins";

/** Long enough that a word is not checked letter by letter. The problem has to be there within half a second. */
const DELAY_MS = 120;

export interface Check {
  report: DraftReport | null;
  /** The flows of the last draft without errors. */
  flows: DraftReport["flows"];
  isOld: boolean;
  error: Error | null;
}

const NOTHING: Check = { report: null, flows: [], isOld: false, error: null };

/** Checks the plugin with the drafts laid over it, whenever they change. */
export function useCheck(plugin: string, files: DraftFiles, isEnabled: boolean): Check {
  const [found, setFound] = useState<Check & { plugin: string }>({ ...NOTHING, plugin });
  const draft = JSON.stringify(files); // the same draft is not checked twice
  useEffect(() => {
    if (!isEnabled) return;
    const control = new AbortController();
    const timer = setTimeout(() => {
      checkDraft(plugin, JSON.parse(draft) as DraftFiles, control.signal).then(
        (report) =>
          setFound((before) => ({ plugin, ...addReport(before.plugin === plugin ? before : NOTHING, report) })),
        (error: unknown) => {
          if (!control.signal.aborted) setFound((before) => ({ ...before, plugin, error: error as Error }));
        },
      );
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [plugin, draft, isEnabled]);
  return found.plugin === plugin ? found : NOTHING;
}

function addReport(before: Check, report: DraftReport): Check {
  const hasErrors = report.problems.some((problem) => problem.severity === "error");
  return { report, flows: hasErrors ? before.flows : report.flows, isOld: hasErrors, error: null };
}
