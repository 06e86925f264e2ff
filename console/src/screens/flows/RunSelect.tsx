import { useQuery } from "@tanstack/react-query";
import { getRuns } from "../../api/client";
import { useFormat } from "../../format";
import { useNow } from "../../useNow";
import { useWords } from "../../words";

/** Of the latest runs, those of this flow are offered. */
const MAX_RUNS = 200;

interface Props {
  /** `plugin.flow` */
  flow: string;
  value: string;
  onChange: (run: string) => void;
}

export function RunSelect({ flow, value, onChange }: Props) {
  const t = useWords();
  const format = useFormat();
  const now = useNow();
  const { data } = useQuery({
    queryKey: ["runs", "flow"],
    queryFn: ({ signal }) => getRuns({ limit: MAX_RUNS }, signal),
  });
  const runs = (data?.runs ?? []).filter((run) => run.flow === flow);
  const isListed = value === "" || runs.some((run) => run.id === value);
  if (runs.length === 0 && isListed) return null;
  return (
    <select
      className="field flow-runs"
      aria-label={t("flow.run")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{t("flow.noRun")}</option>
      {!isListed && <option value={value}>{value}</option>}
      {runs.map((run) => (
        <option key={run.id} value={run.id}>
          {[format.when(run.began_at, now), run.owner, t(`run.${run.outcome}`)].join(" · ")}
        </option>
      ))}
    </select>
  );
}
