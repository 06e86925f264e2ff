/** A question of a run to a person. The same card stands in the chat, in Approvals and on a phone. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";
import { answerApproval, ApiError, UNREACHABLE } from "../../api/client";
import type { Answer, Approval } from "../../api/types";
import type { JsonObject } from "../../log/events";
import { useSettings } from "../../settings";
import { useWords, type Word } from "../../words";
import { Icon } from "../Icon";
import {
  argumentsOf,
  canEdit,
  decisionPayload,
  editPayload,
  fieldsFor,
  fieldsOf,
  isApproval,
  isDefaultQuestion,
  textsIn,
  type QuestionData,
} from "./answers";
import { Expiry, isExpired } from "./Expiry";
import { Form } from "./Form";
import { Request } from "./Request";
import "./question.css";

interface Props {
  question: QuestionData;
  isOpen: boolean;
  /** Whether the user may not answer it. */
  isReadOnly?: boolean;
  /** What came of the answer. */
  result?: ReactNode;
  /** Who asks, above the request. */
  children?: ReactNode;
}

export function Question({ question, isOpen, isReadOnly = false, result, children }: Props) {
  const t = useWords();
  const { language } = useSettings();
  const texts = textsIn(question, language);
  const sentence = isDefaultQuestion(question)
    ? t("question.mayRun", { tool: question.call?.name ?? "" })
    : titleOf({ ...question, message: texts.message });
  const card = useRef<HTMLDivElement>(null);
  const { answer, outcome, problem, isSending } = useAnswer(question.id);
  const closed = outcome ?? (isExpired(question.expiresAt) ? "question.expired" : "question.answered");
  const isClosed = outcome !== null || !isOpen || isExpired(question.expiresAt);

  function send(given: Answer, done: Word) {
    card.current?.focus(); // the buttons go away
    answer(given, done);
  }

  return (
    <div
      ref={card}
      className="question"
      role="group"
      aria-label={t("question.group")}
      tabIndex={-1}
      data-testid="question"
      data-interrupt={question.id}
      data-reason={question.reason}
      data-state={isClosed ? "answered" : "open"}
    >
      <header>
        <Icon name={isApproval(question) ? "shield" : "chat"} />
        <h2 dir="auto">{texts.title || sentence}</h2>
        {!isClosed && question.expiresAt && <Expiry at={question.expiresAt} />}
      </header>
      <div className="question-body">
        {texts.title && (
          <p className="sentence" dir="auto">
            {sentence}
          </p>
        )}
        {children}
        <Request question={{ ...question, message: texts.message }} />
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        {isClosed ? (
          <p className="outcome" role="status">
            {t(closed)}
            {result && <> {result}</>}
          </p>
        ) : isSending ? (
          <p className="outcome" role="status">
            {t("question.sending")}
          </p>
        ) : isReadOnly ? (
          <p className="outcome">{t("question.notYours")}</p>
        ) : isApproval(question) ? (
          <Decision question={question} onAnswer={send} />
        ) : (
          <Form
            fields={fieldsOf(question.schema)}
            submit={t("question.continue")}
            cancel={t("question.skip")}
            onSubmit={(payload) => send({ status: "resolved", payload }, "question.sent")}
            onCancel={() => send({ status: "cancelled", payload: null }, "question.skipped")}
          />
        )}
      </div>
    </div>
  );
}

/** Sends the answer; `outcome` says what became of the question. */
function useAnswer(id: string) {
  const t = useWords();
  const queries = useQueryClient();
  const [outcome, setOutcome] = useState<Word | null>(null);
  const sending = useMutation({
    mutationFn: ({ given }: { given: Answer; done: Word }) => answerApproval(id, given),
    onSuccess: ({ run }, { done }) => {
      setOutcome(done);
      const close = (one: Approval) => (one.id === id ? { ...one, answered_in: run } : one);
      queries.setQueriesData<Approval[]>({ queryKey: ["approvals"] }, (known) => known?.map(close));
    },
    onError: (error) => isTooLate(error) && setOutcome("question.late"),
    onSettled: () => queries.invalidateQueries({ queryKey: ["approvals"] }),
  });
  const { error } = sending;
  const isUnreachable = error instanceof ApiError && error.code === UNREACHABLE;
  const problem = error && !isTooLate(error) ? (isUnreachable ? t("question.notSent") : error.message) : "";
  return {
    answer: (given: Answer, done: Word) => sending.mutate({ given, done }),
    outcome,
    problem,
    isSending: sending.isPending,
  };
}

const isTooLate = (error: Error) => error instanceof ApiError && [404, 409].includes(error.status);

/** The first line, without the request that stands below it. */
function titleOf({ message, request }: QuestionData): string {
  const line = message.split("\n")[0] ?? "";
  return request && line.endsWith(request.head) ? line.slice(0, -request.head.length).trim() : line;
}

interface DecisionProps {
  question: QuestionData;
  onAnswer: (given: Answer, done: Word) => void;
}

function Decision({ question, onAnswer }: DecisionProps) {
  const t = useWords();
  const [isEditing, setIsEditing] = useState(false);
  const [reason, setReason] = useState<string | null>(null);
  const resolve = (payload: Answer["payload"], done: Word) => onAnswer({ status: "resolved", payload }, done);
  if (isEditing) {
    return (
      <Form
        fields={fieldsFor(argumentsOf(question) ?? {})}
        submit={t("question.allow")}
        cancel={t("question.back")}
        onSubmit={(payload) => resolve(editPayload(payload as JsonObject), "question.edited")}
        onCancel={() => setIsEditing(false)}
      />
    );
  }
  if (reason !== null) {
    return (
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          resolve(decisionPayload(question.schema, false, reason), "question.denied");
        }}
      >
        <label className="form-field">
          <span>{t("question.reason")}</span>
          <textarea
            className="field"
            dir="auto"
            rows={2}
            ref={(field) => field?.focus()}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        <div className="buttons">
          <button type="submit" className="button danger">
            {t("question.deny")}
          </button>
          <button type="button" className="button" onClick={() => setReason(null)}>
            {t("question.back")}
          </button>
        </div>
      </form>
    );
  }
  return (
    <div className="buttons">
      <button
        type="button"
        className="button primary"
        onClick={() => resolve(decisionPayload(question.schema, true), "question.allowed")}
      >
        {t("question.allow")}
      </button>
      {canEdit(question) && (
        <button type="button" className="button" onClick={() => setIsEditing(true)}>
          {t("question.edit")}
        </button>
      )}
      <button
        type="button"
        className="button danger"
        onClick={() => resolve(decisionPayload(question.schema, false), "question.denied")}
      >
        {t("question.deny")}
      </button>
      {question.call && (
        <button type="button" className="button" onClick={() => setReason("")}>
          {t("question.denyWhy")}
        </button>
      )}
    </div>
  );
}
