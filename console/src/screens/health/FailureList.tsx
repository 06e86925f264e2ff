import { Link } from "wouter";
import type { FailedRuns } from "../../api/types";
import { useFormat } from "../../format";
import { useNow } from "../../useNow";
import { describeCause } from "../threads/causes";
import { useListWords } from "../threads/words";
import { useHealthWords } from "./words";

/** What fails now, by agent and cause. The checks below do not see it until they ask each model. */
export function FailureList({ failures }: { failures: FailedRuns[] }) {
  const t = useHealthWords();
  const own = useListWords();
  const format = useFormat();
  const now = useNow();
  if (failures.length === 0) return null;
  return (
    <ul className="checks" aria-label={t("failures.name")}>
      {failures.map(({ agent, code, failed, ended, since }) => (
        <li key={`${agent} ${code}`} className="check" data-testid="failed-runs" data-state="broken">
          <span className="check-state">
            <span className="dot" />
            <span className="visually-hidden">{t("health.state.broken")}</span>
          </span>
          <div>
            <p className="check-title">
              <strong>{describeCause(code, own)}</strong> <code>agents.{agent}</code>
            </p>
            <p className="muted">
              {t("failures.share", {
                failed: format.number(failed),
                ended: format.number(ended),
                since: format.when(since, now),
              })}{" "}
              <Link
                to={`/runs?${new URLSearchParams({ owner: "*", state: "failed", agent, code, since: "1d" }).toString()}`}
              >
                {t("failures.open")}
              </Link>
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
