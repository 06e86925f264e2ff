/** Stops every run in progress that the filters of the list show. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { getRuns, stopRun } from "../../api/client";
import { mayDo } from "../../api/rights";
import { useMe } from "../../api/queries";
import type { Me, RunLine, RunQuery } from "../../api/types";
import { useFormat } from "../../format";
import { Dialog } from "../../parts/Dialog";
import { Icon } from "../../parts/Icon";
import { showToast } from "../../parts/toasts";
import { useListWords } from "./words";

const PAGE_RUNS = 200;
const MAX_RUNS = 1000; // of one press; the next one stops more
const AT_ONCE = 6;

interface Props {
  query: RunQuery;
  rows: readonly RunLine[];
}

export function StopAll({ query, rows }: Props) {
  const t = useListWords();
  const format = useFormat();
  const client = useQueryClient();
  const me = useMe().data;
  const [isAsking, setIsAsking] = useState(false);
  const count = rows.filter((row) => isStoppable(row, me)).length;
  const stop = useMutation({
    mutationFn: () => stopShown(query, me),
    onSuccess: ({ stopped, failed }) => {
      const numbers = { stopped: format.number(stopped), failed: format.number(failed) };
      showToast(t(failed > 0 ? "stop.someFailed" : "stop.done", numbers), { isProblem: failed > 0 });
    },
    onError: (error) => showToast(t("stop.failed", { reason: error.message }), { isProblem: true }),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
  if (count === 0 && !isAsking) return null;
  return (
    <>
      <button type="button" className="button stop-all" disabled={stop.isPending} onClick={() => setIsAsking(true)}>
        <Icon name="stop" />
        {t("stop.all")}
      </button>
      {isAsking && (
        <Dialog title={t("stop.all")} onClose={() => setIsAsking(false)}>
          <p>{t("stop.ask")}</p>
          <div className="dialog-buttons">
            <button type="button" className="button" onClick={() => setIsAsking(false)}>
              {t("stop.cancel")}
            </button>
            <button
              type="button"
              className="button danger"
              onClick={() => {
                setIsAsking(false);
                stop.mutate();
              }}
            >
              {t("stop.confirm")}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** A run that is not stored cannot be stopped here. */
const isStoppable = (row: RunLine, me: Me | null | undefined) =>
  row.outcome === "running" && row.kept !== false && (row.owner === me?.user || mayDo(me, "act", row.agent ?? ""));

async function stopShown(query: RunQuery, me: Me | null | undefined): Promise<{ stopped: number; failed: number }> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await getRuns({ ...query, outcome: "running", after, limit: PAGE_RUNS });
    ids.push(...page.runs.filter((row) => isStoppable(row, me)).map((row) => row.id));
    after = page.next ?? undefined;
  } while (after !== undefined && ids.length < MAX_RUNS);
  const left = ids.slice(0, MAX_RUNS);
  let [stopped, failed] = [0, 0];
  async function work() {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      await stopRun(id).then(
        () => stopped++,
        () => failed++,
      );
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { stopped, failed };
}
