import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { isAnswered, useApprovals, useEntries, useMe } from "../../api/queries";
import { getRun } from "../../api/client";
import type { Approval } from "../../api/types";
import { useFormat } from "../../format";
import { EMPTY, fold } from "../../log/fold";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { WithCode } from "../../parts/WithCode";
import type { QuestionData } from "../../parts/question/answers";
import { Question } from "../../parts/question/Question";
import { useNow } from "../../useNow";
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
            <p className="muted">
              <WithCode text={t("approvals.hint")} />
            </p>
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
  const now = seen.map((one) => pending.find(({ id }) => id === one.id) ?? one);
  const fresh = pending.filter((approval) => !seen.some((one) => one.id === approval.id));
  const isSame = fresh.length === 0 && now.every((one, index) => one.answered_in === seen[index]?.answered_in);
  if (isSame) return seen;
  const all = [...now, ...fresh];
  setSeen(all);
  return all;
}

function Card({ approval, isOpen }: { approval: Approval; isOpen: boolean }) {
  const t = useWords();
  const now = useNow();
  const me = useMe().data;
  const format = useFormat();
  const isOwn = approval.owner === me?.user;
  const { question, asked } = useQuestion(approval, isOwn);
  const run = approval.answered_in;
  return (
    <Question
      question={question}
      isOpen={isOpen}
      result={run && <Result key={run} run={run} call={isOwn ? (approval.call?.id ?? null) : null} />}
    >
      {asked && (
        <blockquote className="asked" dir="auto">
          {asked}
        </blockquote>
      )}
      <p className="muted">
        {t("approvals.askedBy", { agent: approval.agent })} ·{" "}
        {!isOwn && <>{t("approvals.of", { owner: approval.owner })} · </>}
        {approval.asked_at && (
          <>
            <time dateTime={approval.asked_at} title={format.full(approval.asked_at)}>
              {t("approvals.since", { when: format.ago(approval.asked_at, now) })}
            </time>{" "}
            ·{" "}
          </>
        )}
        <Link to={`/threads/${encodeURIComponent(approval.thread)}`}>{t("approvals.open")}</Link>
      </p>
    </Question>
  );
}

const RESULT_INTERVAL_MS = 1500;
const MAX_RESULT_CHARS = 300;

/** What came of an answer: the end of its run and, of one's own run, the result of the call. */
function Result({ run, call }: { run: string; call: string | null }) {
  const t = useWords();
  const { data } = useQuery({
    queryKey: ["run", run],
    queryFn: () => getRun(run),
    refetchInterval: ({ state }) => (state.data && state.data.outcome !== "running" ? false : RESULT_INTERVAL_MS),
  });
  const isOver = data !== undefined && data.outcome !== "running";
  const entries = useEntries(run, isOver && call !== null).data ?? [];
  const returned = entries.find(({ event }) => event.type === "ToolCallReturned" && event.call_id === call)?.event;
  if (!isOver) return t("question.goesOn");
  if (data.outcome === "failed") return t("question.result.failed", { message: data.error?.message ?? "" });
  if (data.outcome === "running") return null;
  const result = returned?.type === "ToolCallReturned" ? returned.content : "";
  const shown = result.length > MAX_RESULT_CHARS ? `${result.slice(0, MAX_RESULT_CHARS)}…` : result;
  return (
    <>
      {t(`question.result.${data.outcome}`)} {shown && <bdi>{t("question.result.tool", { result: shown })}</bdi>}
    </>
  );
}

/** The question of a flow says only in its run's log what would be sent; so does one's own run what the user asked. */
function useQuestion(approval: Approval, isOwn: boolean): { question: QuestionData; asked: string } {
  const entries = useEntries(approval.run, approval.call === null || isOwn).data ?? [];
  const items = fold(EMPTY, entries).items;
  const asked = items.find((item) => item.kind === "question" && item.id === approval.id);
  const words = items.findLast((item) => item.kind === "message" && item.role === "user");
  return {
    question: {
      ...approval,
      expiresAt: approval.expires_at,
      request: asked?.kind === "question" ? asked.request : null,
    },
    asked: isOwn && words?.kind === "message" ? words.text : "",
  };
}
