import type { ReactNode } from "react";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import type { Totals } from "../../log/timeline";
import { useWords } from "../../words";
import type { Price } from "./price";

const PRICE_WORDS = { known: "totals.priced", unknown: "totals.unknown", none: "totals.unpriced" } as const;

interface Props {
  totals: Totals;
  /** Null if it is unknown. */
  cost: number | null;
  price: Price;
}

/** Sums over the spans; “–” for tokens that no model has reported. The raw numbers stand in `data-value`. */
export function TotalsBar({ totals, cost, price }: Props) {
  const t = useWords();
  const format = useFormat();
  const currency = useMe().data?.currency;
  const isReported = totals.modelCalls === 0 || totals.input + totals.output > 0;
  const tokens = (count: number) => (isReported ? format.number(count) : "–");
  const speed = totals.generating >= 100 ? Math.round((totals.output / totals.generating) * 1000) : 0;
  return (
    <dl className="totals">
      <Total name={t("totals.time")} note={<Waited waited={totals.waited} />}>
        <span data-testid="total-time" data-value={Math.round(totals.time)}>
          {format.duration(totals.time)}
        </span>
      </Total>
      <Total name={t("totals.modelCalls")} note={t("totals.modelCalls")}>
        <span data-testid="total-model-calls" data-value={totals.modelCalls}>
          {format.number(totals.modelCalls)}
        </span>
      </Total>
      <Total
        name={t("totals.tokensIn")}
        unit={t("totals.in")}
        note={totals.cached > 0 ? t("totals.cached", { count: format.number(totals.cached) }) : t("totals.tokens")}
      >
        <span data-testid="total-tokens-in" data-value={totals.input}>
          {tokens(totals.input)}
        </span>
      </Total>
      <Total
        name={t("totals.tokensOut")}
        unit={t("totals.out")}
        note={speed > 0 ? t("totals.speed", { count: format.number(speed) }) : t("totals.tokens")}
      >
        <span data-testid="total-tokens-out" data-value={totals.output}>
          {tokens(totals.output)}
        </span>
      </Total>
      <Total name={t("totals.cost")} note={t(PRICE_WORDS[price])}>
        <span data-testid="total-cost" data-value={cost ?? undefined}>
          {format.cost(cost, currency)}
        </span>
      </Total>
    </dl>
  );
}

function Waited({ waited }: { waited: number }) {
  const t = useWords();
  const format = useFormat();
  return (
    <span data-testid="total-waited" data-value={Math.round(waited)}>
      {waited > 0 ? t("totals.waited", { time: format.duration(waited) }) : t("totals.notWaited")}
    </span>
  );
}

function Total({ name, unit, note, children }: { name: string; unit?: string; note: ReactNode; children: ReactNode }) {
  return (
    <div className="total">
      <dt className="visually-hidden">{name}</dt>
      <dd>
        {children}
        {unit && <small> {unit}</small>}
      </dd>
      <dd className="note">{note}</dd>
    </div>
  );
}
