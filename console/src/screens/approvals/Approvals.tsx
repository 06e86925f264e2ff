import { useState } from "react";
import { Link } from "wouter";
import { isAnswered, useApprovals, useEntries, useMe } from "../../api/queries";
import type { Approval } from "../../api/types";
import { EMPTY, fold } from "../../log/fold";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import type { QuestionData } from "../../parts/question/answers";
import { Question } from "../../parts/question/Question";
import { useWords } from "../../words";
import "./approvals.css";

export function Approvals() {
  const t = useWords();
  useShownThread(null);
  const { data: pending = [], isSuccess } = useApprovals();
  const shown = useSeen(pending);
  const open = new Set(pending.filter((approval) => !isAnswered(approval)).map((approval) => approval.id));
  return (
    <>
      <Header title={t("approvals.title")} />
      <div className="page approvals">
        {isSuccess && shown.length === 0 && (
          <div className="welcome">
            <h2>{t("approvals.none")}</h2>
            <p className="muted">{t("approvals.hint")}</p>
          </div>
        )}
        {shown.map((approval) => (
          <Card key={approval.id} approval={approval} isOpen={open.has(approval.id)} />
        ))}
      </div>
    </>
  );
}

/** The pending questions, and those that were answered while the screen was open: what became of them stays visible. */
function useSeen(pending: Approval[]): Approval[] {
  const [seen, setSeen] = useState<Approval[]>([]);
  const fresh = pending.filter((approval) => !seen.some((one) => one.id === approval.id));
  if (fresh.length === 0) return seen;
  const all = [...seen, ...fresh];
  setSeen(all);
  return all;
}

function Card({ approval, isOpen }: { approval: Approval; isOpen: boolean }) {
  const t = useWords();
  const me = useMe().data;
  const question = useQuestion(approval);
  return (
    <Question question={question} isOpen={isOpen}>
      <p className="muted">
        {t("approvals.askedBy", { agent: approval.agent })} ·{" "}
        {approval.owner !== me?.user && <>{t("approvals.of", { owner: approval.owner })} · </>}
        <Link to={`/threads/${encodeURIComponent(approval.thread)}`}>{t("approvals.open")}</Link>
      </p>
    </Question>
  );
}

/** The question of a flow says only in its run's log what would be sent. */
function useQuestion(approval: Approval): QuestionData {
  const entries = useEntries(approval.run, approval.call === null).data ?? [];
  const items = fold(EMPTY, entries).items;
  const asked = items.find((item) => item.kind === "question" && item.id === approval.id);
  return {
    ...approval,
    expiresAt: approval.expires_at,
    request: asked?.kind === "question" ? asked.request : null,
  };
}
