import { Copyable } from "../../parts/Copyable";
import { Icon } from "../../parts/Icon";
import type { HealthCheck } from "./api";
import { sortChecks } from "./summary";
import { isKnownCheck, useHealthWords } from "./words";

/** What is broken comes first. */
export function CheckList({ checks }: { checks: HealthCheck[] }) {
  const t = useHealthWords();
  return (
    <ul className="checks" aria-label={t("health.checks")}>
      {sortChecks(checks).map((check, index) => (
        <CheckRow key={`${check.id} ${check.subject} ${index}`} check={check} />
      ))}
    </ul>
  );
}

function CheckRow({ check }: { check: HealthCheck }) {
  const t = useHealthWords();
  return (
    <li className="check" data-testid="check" data-id={check.id} data-state={check.state}>
      <span className="check-state">
        {check.state === "fine" ? <Icon name="check" /> : <span className="dot" />}
        <span className="visually-hidden">{t(`health.state.${check.state}`)}</span>
      </span>
      <div>
        <p className="check-title">
          <strong>{isKnownCheck(check.id) ? t(`health.check.${check.id}`) : check.title}</strong>{" "}
          <code>{check.subject}</code>
        </p>
        <p className="muted" lang="en">
          {check.detail}
        </p>
        {check.fix && check.state !== "fine" && <FixBlock fix={check.fix} />}
      </div>
    </li>
  );
}

/** How to repair it. The texts are the server's, and in English. */
function FixBlock({ fix }: { fix: NonNullable<HealthCheck["fix"]> }) {
  const t = useHealthWords();
  return (
    <div className="fix" data-testid="fix">
      <p>
        <strong>{t("health.fix")}</strong> <span lang="en">{fix.text}</span>
      </p>
      {fix.command && <Copyable title={t("health.command")} text={fix.command} />}
      {fix.yaml && <Copyable title={t("health.yaml")} text={fix.yaml} />}
      {fix.docs && (
        <p className="muted">
          {t("health.docs")} <code>docs/{fix.docs}.md</code>
        </p>
      )}
    </div>
  );
}
