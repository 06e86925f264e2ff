import { useFormat, type Format } from "../../format";
import { useLimits, type LimitState } from "./api";
import { DOCS } from "./NotCounted";
import { fill } from "./sums";
import { useUsageWords } from "./words";

/** What is used of each limit now. Those of which the least is left come first. */
export function LimitList({ currency }: { currency: string }) {
  const t = useUsageWords();
  const format = useFormat();
  const { data } = useLimits();
  return (
    <section aria-labelledby="usage-limits">
      <h2 id="usage-limits">{t("usage.limits")}</h2>
      {data?.limits.length === 0 && (
        <p className="muted">
          {t("usage.noLimits")} <code>{DOCS}</code>
        </p>
      )}
      <ul className="limits">
        {data?.limits.map((state) => (
          <LimitRow
            key={`${state.limit} ${state.subject} ${state.kind} ${state.most}`}
            state={state}
            currency={currency}
          />
        ))}
      </ul>
      {data !== undefined && data.left_out > 0 && (
        <p className="muted">{t("usage.limitsLeftOut", { count: format.number(data.left_out) })}</p>
      )}
    </section>
  );
}

function LimitRow({ state, currency }: { state: LimitState; currency: string }) {
  const t = useUsageWords();
  const format = useFormat();
  const show = (amount: number) => showAmount(amount, state, format, currency);
  const { taken, takenShare, reservedShare, level } = fill(state);
  const percent = Math.round(100 * (takenShare + reservedShare));
  const kind = t(`usage.kind.${state.kind}`);
  return (
    <li className="limit" data-testid="limit" data-limit={state.limit} data-subject={state.subject} data-level={level}>
      <p className="limit-head">
        <strong>{state.limit}</strong> <span className="chip">{state.subject}</span>
        <span className="muted">{kind}</span>
        {level !== "fine" && <span className="limit-level">{t(`usage.level.${level}`)}</span>}
      </p>
      <div
        className="meter"
        role="meter"
        aria-label={t("usage.meter", { limit: state.limit, subject: state.subject, kind })}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={t("usage.of", { used: show(taken), most: show(state.most) })}
      >
        {/* The widths are set by script, which the page's policy allows. */}
        <span className="meter-used" style={{ width: `${100 * takenShare}%` }} />
        <span className="meter-reserved" style={{ width: `${100 * reservedShare}%` }} />
      </div>
      <p className="limit-numbers">
        <span>
          {t("usage.of", { used: show(taken), most: show(state.most) })} · {percent} %
        </span>
        {state.reserved > 0 && <span>{t("usage.reserved", { amount: show(state.reserved) })}</span>}
        {(state.waiting ?? 0) > 0 && <span>{t("usage.waiting", { count: format.number(state.waiting ?? 0) })}</span>}
        {state.resets_at && <span className="muted">{t("usage.resets", { when: format.full(state.resets_at) })}</span>}
      </p>
    </li>
  );
}

const showAmount = (amount: number, { kind }: LimitState, format: Format, currency: string) =>
  kind === "cost" ? format.cost(amount, currency) : format.number(amount);
