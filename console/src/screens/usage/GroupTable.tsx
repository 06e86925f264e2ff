import { UNKNOWN, useFormat } from "../../format";
import type { UsageAnswer } from "./api";
import { COUNTS } from "./sums";
import { useUsageWords } from "./words";

/** The sums of each user, agent, model, key or purpose, the largest first. */
export function GroupTable({ usage }: { usage: UsageAnswer }) {
  const t = useUsageWords();
  const format = useFormat();
  const title = t(`usage.table.${usage.by}`);
  return (
    <section aria-labelledby="usage-groups">
      <h2 id="usage-groups">{title}</h2>
      {/* It scrolls, so it can have the focus. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="usage-table" role="region" aria-labelledby="usage-groups" tabIndex={0}>
        <table data-testid="usage-groups">
          <thead>
            <tr>
              <th scope="col">{t(`usage.column.${usage.by}`)}</th>
              {COUNTS.map((name) => (
                <th key={name} scope="col">
                  {t(`usage.count.${name}`)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {usage.groups.map((row) => (
              <tr key={row[usage.by]} data-testid="usage-group" data-name={row[usage.by]}>
                <th scope="row">{row[usage.by] || UNKNOWN}</th>
                {COUNTS.map((name) => (
                  <td key={name} data-value={row[name]}>
                    {name === "cost" ? format.cost(row.cost, usage.currency) : format.number(row[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {usage.left_out > 0 && (
        <p className="muted">
          {t("usage.leftOut", { count: format.number(usage.left_out) })} <code>rightseat usage --by {usage.by}</code>
        </p>
      )}
    </section>
  );
}
