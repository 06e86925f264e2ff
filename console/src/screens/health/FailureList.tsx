import { Link } from "wouter";
import type { FailedRuns } from "../../api/types";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import { WithCode } from "../../parts/WithCode";
import { runsAddress } from "../../range";
import { useNow } from "../../useNow";
import { describeCause } from "../threads/causes";
import { useListWords } from "../threads/words";
import { isKnownFix, useHealthWords } from "./words";

interface Props {
  failures: readonly FailedRuns[];
  range: string;
  /** When the runs begin that the server has read, if it has not read all. */
  since: string | null;
}

/** What fails, by agent, cause and model. The checks below do not see it until they ask each model. */
export function FailureList({ failures, range, since }: Props) {
  const t = useHealthWords();
  const format = useFormat();
  if (failures.length === 0) return null;
  return (
    <>
      <ul className="checks" aria-label={t("failures.name")}>
        {failures.map((group) => (
          <Group key={JSON.stringify([group.agent, group.code, group.model])} group={group} range={range} />
        ))}
      </ul>
      {since && <p className="muted">{t("failures.since", { when: format.full(since) })}</p>}
    </>
  );
}

function Group({
  group: { agent, code, model, failed, ended, users, cost, since, last },
  range,
}: {
  group: FailedRuns;
  range: string;
}) {
  const t = useHealthWords();
  const own = useListWords();
  const format = useFormat();
  const now = useNow();
  const currency = useMe().data?.currency;
  return (
    <li className="check" data-testid="failed-runs" data-state="broken" data-code={code}>
      <span className="check-state">
        <span className="dot" />
        <span className="visually-hidden">{t("health.state.broken")}</span>
      </span>
      <div>
        <p className="check-title">
          <strong>{describeCause(code, own)}</strong> <code>agents.{agent}</code> {model && <code>models.{model}</code>}
        </p>
        <p className="muted">
          {t("failures.share", {
            failed: format.number(failed),
            ended: format.number(ended),
            since: format.when(since, now),
            last: format.when(last, now),
          })}{" "}
          {t(users === 1 ? "failures.user" : "failures.users", { count: format.number(users) })}
          {cost !== null && ` · ${format.cost(cost, currency)}`}{" "}
          <Link to={runsAddress({ state: "failed", agent, code, range: range === "15m" ? "1h" : range })}>
            {t("failures.open")}
          </Link>
        </p>
        {isKnownFix(code) && (
          <div className="fix">
            <p>
              <WithCode text={t(`failures.fix.${code}`)} />
            </p>
          </div>
        )}
      </div>
    </li>
  );
}
