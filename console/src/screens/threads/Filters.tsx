/** The search and the filters of a list. They stand in the address, so that a list can be bookmarked and shared. */
import type { ReactNode } from "react";
import { useKnownAgents, useMe } from "../../api/queries";
import type { RunState } from "../../log/fold";
import { useFilters } from "../../location";
import { beginOf, chooseRange } from "../../range";
import { useWords } from "../../words";

export const STATES: readonly RunState[] = ["running", "waiting", "done", "cancelled", "failed"];
export const EVERYBODY = "*";
const RANGES = ["1h", "24h", "7d", "30d"] as const;

export type Filter = "q" | "agent" | "state" | "owner" | "range" | "archived" | "flow" | "feedback" | "code";
export type FilterValues = Partial<Record<Filter, string>>;

/** The beginning of the period, by the minute: the same filters give the same request. */
export const sinceOf = ({ range }: FilterValues, now: number): string | undefined =>
  beginOf(range && chooseRange(range, RANGES, "24h"), now);

/** Agent, state, owner and period. `children` stand behind them. */
export function Filters({ children }: { children?: ReactNode }) {
  const t = useWords();
  const [filters, change] = useFilters<Filter>();
  const agents = useKnownAgents();
  const me = useMe().data;
  const others = filters.owner && filters.owner !== EVERYBODY ? [filters.owner] : [];
  return (
    <div className="filters">
      {(agents.length > 1 || filters.agent) && (
        <Select name={t("list.agent")} value={filters.agent} onChange={(agent) => change({ agent })}>
          <option value="">{t("list.anyAgent")}</option>
          {agents.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      )}
      <Select name={t("list.state")} value={filters.state} onChange={(state) => change({ state })}>
        <option value="">{t("list.anyState")}</option>
        {STATES.map((state) => (
          <option key={state} value={state}>
            {t(`run.${state}`)}
          </option>
        ))}
      </Select>
      {(me?.rights.watch || filters.owner) && (
        <Select name={t("list.owner")} value={filters.owner} onChange={(owner) => change({ owner })}>
          <option value="">{t("list.mine")}</option>
          <option value={EVERYBODY}>{t("list.everybody")}</option>
          {others.map((owner) => (
            <option key={owner} value={owner}>
              {t("list.of", { owner })}
            </option>
          ))}
        </Select>
      )}
      <Select
        name={t("list.since")}
        value={filters.range && chooseRange(filters.range, RANGES, "24h")}
        onChange={(range) => change({ range })}
      >
        <option value="">{t("list.anyTime")}</option>
        {RANGES.map((range) => (
          <option key={range} value={range}>
            {t(`list.since.${range}`)}
          </option>
        ))}
      </Select>
      {children}
    </div>
  );
}

interface SelectProps {
  name: string;
  value: string | undefined;
  onChange: (value: string) => void;
  children: ReactNode;
}

export function Select({ name, value = "", onChange, children }: SelectProps) {
  return (
    <select
      className="field filter"
      aria-label={name}
      data-set={value !== "" || undefined}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {children}
    </select>
  );
}
