import { Link } from "wouter";
import { useAgents, useMe } from "../../api/queries";
import type { Agent } from "../../api/types";
import { useWords } from "../../words";

/** A thread before its first question. */
export function Welcome({ agent }: { agent: Agent | undefined }) {
  const t = useWords();
  const { isSuccess, data } = useAgents();
  const canBeSetUp = useMe().data?.setup ?? null;
  const hasNone = isSuccess && data.length === 0;
  return (
    <div className="welcome">
      <h2>{t("chat.welcome")}</h2>
      <p className="muted">{hasNone ? t("chat.noAgents") : agent?.description}</p>
      {canBeSetUp && (
        <p className="muted">
          {t("chat.demo")} <Link to="/health">{t("chat.setUp")}</Link>
        </p>
      )}
    </div>
  );
}
