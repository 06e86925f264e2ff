import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ApiError, getRun } from "../../api/client";
import { useShownThread } from "../../log/LiveProvider";
import RunFlow from "../../parts/flow/RunFlow";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";

/** The last flow with this name in a run, while it runs and afterwards. */
export function FlowOfRun({ run, name }: { run: string; name: string }) {
  const t = useWords();
  const { data: line, error, refetch } = useQuery({ queryKey: ["run", run], queryFn: () => getRun(run) });
  const snapshot = useShownThread(line?.thread ?? null);
  const { flows } = snapshot.conversation;
  const index = flows.findLastIndex((flow) => flow.run === run && flow.flow === name);
  const flow = flows[index];
  if (error instanceof ApiError && error.status === 404) return <Notice text={t("flow.noSuchRun")} />;
  if (error) return <Notice text={t("error.unreachable")} onRetry={() => void refetch()} />;
  if (!line || snapshot.thread !== line.thread) return null;
  if (!flow) return snapshot.isCaughtUp ? <Notice text={t("flow.noSuchRun")} /> : null;
  return (
    <>
      <p className="flow-of">
        <span className="state-chip" data-state={line.outcome}>
          {t(`run.${line.outcome}`)}
        </span>
        {t("flow.askedBy", { owner: line.owner })}
        <Link to={`/threads/${encodeURIComponent(line.thread)}`}>{t("approvals.open")}</Link>
      </p>
      <RunFlow snapshot={snapshot} index={index} flow={flow} />
    </>
  );
}
