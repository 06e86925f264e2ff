import { Link } from "wouter";
import { useAgents, useMe } from "../../api/queries";
import type { Agent } from "../../api/types";
import { useWords } from "../../words";

interface Props {
  agent: Agent | undefined;
  /** Undefined while a question is being sent. */
  onAsk: ((text: string) => void) | undefined;
}

/** A thread before its first question. */
export function Welcome({ agent, onAsk }: Props) {
  const t = useWords();
  const { isSuccess, data } = useAgents();
  const canBeSetUp = useMe().data?.setup ?? null;
  const hasNone = isSuccess && data.length === 0;
  const questions = agent?.questions ?? [];
  return (
    <div className="welcome">
      <h2>{t("chat.welcome")}</h2>
      <p className="muted">{hasNone ? t("chat.noAgents") : agent?.description}</p>
      {questions.length > 0 && (
        <ul className="examples" aria-label={t("chat.examples")}>
          {questions.map((question) => (
            <li key={question}>
              <button type="button" className="button" disabled={!onAsk} onClick={() => onAsk?.(question)}>
                {question}
              </button>
            </li>
          ))}
        </ul>
      )}
      {canBeSetUp && (
        <p className="muted">
          {t("chat.demo")} <Link to="/health">{t("chat.setUp")}</Link>
        </p>
      )}
    </div>
  );
}
