import { useEffect, useRef, useState, type FormEvent } from "react";
import { tryFlow, type DraftFiles, type DryAnswer } from "../../api/plugins";
import { Code } from "../../parts/Code";
import { fieldsOf } from "../../parts/question/answers";
import { Form } from "../../parts/question/Form";
import { useWords } from "../../words";
import { foldDryRun, NO_STEPS, type DryRequest, type DryRunState, type DryStep } from "./dryRun";
import { useWorkbenchWords } from "./words";

interface Props {
  plugin: string;
  files: DraftFiles;
  flows: string[];
  /** The flow of the open file. */
  current: string | null;
}

/** Runs a flow of the draft without sending anything, and shows what each step would send. */
export function Try({ plugin, files, flows, current }: Props) {
  const t = useWorkbenchWords();
  const [choice, setChoice] = useState<{ of: string | null; flow: string } | null>(null);
  const chosen = choice?.of === current ? choice.flow : null; // another file is open now
  const [question, setQuestion] = useState("");
  const [run, setRun] = useState<{ flow: string; state: DryRunState } | null>(null);
  const [asked, setAsked] = useState<{ question: string; answers: DryAnswer[] }>({ question: "", answers: [] });
  const [control, setControl] = useState<AbortController | null>(null);
  const mounted = useRef<AbortController | null>(null);
  useEffect(() => () => mounted.current?.abort(), []);
  const flow = [chosen, current, flows[0]].find((name) => name != null && flows.includes(name)) ?? null;

  function begin(event: FormEvent) {
    event.preventDefault();
    void start(question.trim(), []);
  }

  /** From the beginning, also with one more answer: no dry run is kept. */
  async function start(text: string, answers: DryAnswer[]) {
    if (flow === null || text === "") return;
    setAsked({ question: text, answers });
    const aborting = new AbortController();
    mounted.current = aborting;
    setControl(aborting);
    const change = (next: (state: DryRunState) => DryRunState) =>
      setRun((known) => ({ flow, state: next(known?.flow === flow ? known.state : NO_STEPS) }));
    change(() => NO_STEPS);
    try {
      const wanted = { plugin, files, flow, question: text, answers };
      await tryFlow(wanted, (one) => change((state) => foldDryRun(state, one)), aborting.signal);
    } catch (error) {
      if (!aborting.signal.aborted) change((state) => ({ ...state, failure: (error as Error).message }));
    } finally {
      setControl(null);
    }
  }

  if (flow === null) return <p className="muted">{t("try.noFlow")}</p>;
  return (
    <>
      <form className="try-form" onSubmit={begin}>
        {flows.length > 1 && (
          <select
            className="field"
            aria-label={t("try.flow")}
            value={flow}
            onChange={(event) => setChoice({ of: current, flow: event.target.value })}
          >
            {flows.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <input
          className="field"
          aria-label={t("try.question")}
          placeholder={t("try.placeholder")}
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
        />
        {control ? (
          <button type="button" className="button" onClick={() => control.abort()}>
            {t("try.stop")}
          </button>
        ) : (
          <button type="submit" className="button primary" disabled={question.trim() === ""}>
            {t("try.run")}
          </button>
        )}
      </form>
      {run?.flow === flow ? (
        <Outcome
          run={run.state}
          isRunning={control !== null}
          onAnswer={(answer) => void start(asked.question, [...asked.answers, answer])}
        />
      ) : (
        <p className="muted">{t("try.hint")}</p>
      )}
    </>
  );
}

interface OutcomeProps {
  run: DryRunState;
  isRunning: boolean;
  onAnswer: (answer: DryAnswer) => void;
}

function Outcome({ run, isRunning, onAnswer }: OutcomeProps) {
  const t = useWorkbenchWords();
  const common = useWords();
  return (
    <div aria-live="polite">
      <p className="try-note">
        <span className="state-chip" data-state="running">
          {t("try.nothingSent")}
        </span>
      </p>
      <ol className="try-steps">
        {run.steps.map((step, index) => (
          <StepOutcome key={index} step={step} />
        ))}
      </ol>
      {run.answer && <Code title={t("try.answer")} text={run.answer} />}
      {run.question && (
        <section data-testid="dry-question">
          <p className="plain">{t("try.waiting", { message: run.question.message })}</p>
          {!isRunning && (
            <Form
              fields={fieldsOf(run.question.schema)}
              submit={common("question.continue")}
              cancel={common("question.skip")}
              onSubmit={(payload) => onAnswer({ status: "resolved", payload })}
              onCancel={() => onAnswer({ status: "cancelled", payload: null })}
            />
          )}
        </section>
      )}
      {run.failure && <p className="problem plain">{t("try.failed", { message: run.failure })}</p>}
      {isStatus(run.status) && <p className="muted">{t(`try.finished.${run.status}`)}</p>}
    </div>
  );
}

const STATUSES = ["succeeded", "failed", "failed_handled", "cancelled"] as const;
const isStatus = (status: string | null): status is (typeof STATUSES)[number] =>
  STATUSES.some((known) => known === status);

function StepOutcome({ step }: { step: DryStep }) {
  const t = useWorkbenchWords();
  return (
    <li>
      <p>
        <strong>{step.name}</strong> <span className="muted">{step.request ? t("try.wouldSend") : step.call}</span>
      </p>
      {step.request && <Sent request={step.request} />}
      {step.record !== null && <pre className="sent-text">{JSON.stringify(step.record, null, 2)}</pre>}
      {!step.request && step.message && <p className="muted plain">{step.message}</p>}
      {step.error && <p className="problem plain">{step.error}</p>}
    </li>
  );
}

function Sent({ request }: { request: DryRequest }) {
  return (
    <pre className="sent-text" data-testid="sent">
      <b>{request.method}</b> {request.url}
      {Object.entries(request.headers).map(([name, value]) => (
        <span key={name}>{`\n${name}: ${value}`}</span>
      ))}
      {request.body !== null && `\n\n${JSON.stringify(request.body, null, 2)}`}
    </pre>
  );
}
