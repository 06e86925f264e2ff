import type { Run } from "../../log/fold";
import { useWords } from "../../words";

/** The state of the latest run, and the step of a flow that runs. */
export function RunStatus({ run }: { run: Run }) {
  const t = useWords();
  const step = run.state === "running" && run.step ? t("run.step", { name: run.step }) : "";
  return (
    <span className="run-state" data-testid="run-state" data-state={run.state} data-run={run.id} title={step}>
      <span className="dot" aria-hidden="true" />
      {step || t(`run.${run.state}`)}
    </span>
  );
}
