import { Copyable } from "../../parts/Copyable";
import { useUsageWords } from "./words";

export const DOCS = "docs/how-to/limits-and-budgets.md";

const EXAMPLE = `limits:
  - {name: free, subject: user, requests_per_minute: 20, tokens_per_day: 200_000}`;

/** How a server begins to count. */
export function NotCounted() {
  const t = useUsageWords();
  return (
    <div className="welcome" data-testid="usage-not-counted">
      <h2>{t("usage.notCounted")}</h2>
      <p className="muted">{t("usage.notCountedHint")}</p>
      <Copyable title="rightseat.yaml" text={EXAMPLE} />
      <p className="muted">
        {t("usage.docs")} <code>{DOCS}</code>
      </p>
    </div>
  );
}
