import { useState } from "react";
import { useFailures, useMe } from "../../api/queries";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { WithCode } from "../../parts/WithCode";
import { Notice } from "../../parts/Notice";
import { useRange } from "../../range";
import { useWords } from "../../words";
import { useHealth } from "./api";
import { CheckList } from "./CheckList";
import { FailureList } from "./FailureList";
import { FirstSteps } from "./FirstSteps";
import { summarize } from "./summary";
import { useHealthWords } from "./words";
import "./health.css";

const RANGES = ["15m", "1h", "24h", "7d", "30d"] as const;

/** The checks of the server and of everything it depends on. */
export default function Health() {
  const t = useHealthWords();
  useShownThread(null);
  const me = useMe().data;
  const isAllowed = me?.rights.watch?.includes("*") ?? false;
  if (!isAllowed) return <Notice text={t("health.notAllowed")} />;
  return <Checks setup={me?.setup ?? null} />;
}

function Checks({ setup }: { setup: { file: string } | null }) {
  const t = useHealthWords();
  const shared = useWords();
  const [missing] = useState(setup); // the first steps stay until the screen is left, also once the file is there
  const [range, setRange] = useRange(RANGES, "15m");
  const found = useFailures(range).data;
  const failures = found?.groups ?? [];
  const { checks, error, isChecking, checkAgain } = useHealth(true);
  return (
    <>
      <Header title={t("health.title")}>
        <select
          className="field health-range"
          aria-label={t("failures.range")}
          value={range}
          onChange={(event) => setRange(event.target.value as (typeof RANGES)[number])}
        >
          {RANGES.map((one) => (
            <option key={one} value={one}>
              {t(`failures.range.${one}`)}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="button check-again"
          aria-disabled={isChecking}
          onClick={() => isChecking || checkAgain()}
        >
          {t("health.again")}
        </button>
      </Header>
      <div
        className="page health"
        data-setup={missing !== null}
        role="region"
        aria-label={t("health.title")}
        // It scrolls, and without a problem it has nothing else to focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {missing && <FirstSteps file={missing.file} />}
        <section className="health-checks" aria-label={t("health.checks")}>
          <p className="muted health-summary" role="status">
            {isChecking ? t("health.checking") : summarize(t, checks ?? [], failures.length)}
          </p>
          {error && (
            <p className="problem" role="alert">
              {error.message || shared("error.unreachable")}
            </p>
          )}
          <FailureList failures={failures} range={range} since={found?.since ?? null} />
          <CheckList checks={checks ?? []} />
          <p className="muted">
            <WithCode text={t("health.deep")} />
          </p>
        </section>
      </div>
    </>
  );
}
