/** One step: what went in, what came out or went wrong, and how it is defined. */
import { useState } from "react";
import { useFormat } from "../../format";
import type { Json, JsonObject } from "../../log/events";
import type { StepRecord, StepState } from "../../log/flow";
import type { FlowStep } from "../../log/flowGraph";
import { useWords } from "../../words";
import { Code } from "../Code";
import { Icon } from "../Icon";
import { Markdown } from "../Markdown";
import { Tabs } from "../Tabs";
import { Asks } from "./Asks";
import { kindOf } from "./kinds";

type Tab = "outcome" | "input" | "prompt" | "record" | "definition";

interface Props {
  step: FlowStep;
  state: StepState;
  record: StepRecord | undefined;
  onClose: () => void;
}

export function StepPanel({ step, state, record, onClose }: Props) {
  const t = useWords();
  const format = useFormat();
  const [wanted, setWanted] = useState<Tab>("outcome");
  const tabs: Tab[] = ["outcome", "input"];
  if (record?.record) tabs.push(step.call === "llm" ? "prompt" : "record");
  if (hasContent(step.definition)) tabs.push("definition");
  const tab = tabs.includes(wanted) ? wanted : "outcome";
  return (
    <section className="step-panel" aria-label={t("flow.step", { name: step.name })} data-testid="step-panel">
      <div className="step-head">
        <button type="button" className="icon-button" aria-label={t("flow.allSteps")} onClick={onClose}>
          <Icon name="left" />
        </button>
        <h2>{step.name}</h2>
        <span className="state-chip" data-kind={kindOf(step.call)}>
          {step.call}
        </span>
        <StateChip state={state} />
      </div>
      <p className="muted step-facts">
        {[step.text, ...factsOf(record, t, format.duration)].filter(Boolean).join(" · ")}
        {step.dangerous && <Asks />}
      </p>
      <Tabs id="step" label={t("flow.details")} names={tabs} selected={tab} onSelect={setWanted}>
        {(name) => t(`flow.tab.${name}`)}
      </Tabs>
      <div className="step-body" role="tabpanel" id="step-body" aria-labelledby={`step-tab-${tab}`} tabIndex={0}>
        {tab === "outcome" && <Outcome record={record} state={state} />}
        {tab === "input" && <Value title={t("flow.tab.input")} value={record?.input} />}
        {(tab === "prompt" || tab === "record") && <Fields value={record?.record ?? {}} />}
        {tab === "definition" && <Value title={step.name} value={step.definition} />}
      </div>
    </section>
  );
}

/** The state of a step in words; `now` is *running*. */
export function StateChip({ state }: { state: StepState }) {
  const t = useWords();
  const looks = { idle: "", now: "running", done: "done", failed: "failed", waiting: "waiting", skipped: "" }[state];
  return (
    <span className="state-chip" data-state={looks}>
      {t(`flow.state.${state}`)}
    </span>
  );
}

function factsOf(
  record: StepRecord | undefined,
  t: ReturnType<typeof useWords>,
  duration: (milliseconds: number) => string,
): string[] {
  if (!record) return [];
  return [
    ...(record.milliseconds === null ? [] : [duration(record.milliseconds)]),
    ...(record.count > 1 ? [t("flow.times", { count: record.count })] : []),
    ...(record.next ? [t("flow.next", { name: record.next })] : []),
  ];
}

function Outcome({ record, state }: { record: StepRecord | undefined; state: StepState }) {
  const t = useWords();
  if (!record) return <p className="muted">{t(state === "skipped" ? "flow.notEntered" : "flow.notYet")}</p>;
  const isMessage = record.message !== "" && record.message !== record.text;
  return (
    <>
      {record.error && (
        <div className="failure" role="alert">
          <strong>{record.error.code}</strong> {record.error.message}
        </div>
      )}
      {!record.error && state === "failed" && <div className="failure">{t("flow.cutOff")}</div>}
      {state === "waiting" && <p className="muted">{t("flow.waits")}</p>}
      {state === "now" && record.text === "" && <p className="muted">{t("flow.running")}</p>}
      {record.text !== "" && (
        <div className="step-text">
          <Markdown text={record.text} />
        </div>
      )}
      {isMessage && record.text === "" && <p className="step-message">{record.message}</p>}
      {record.text === "" && hasContent(record.output) && <Value title={t("flow.tab.outcome")} value={record.output} />}
      {record.isShortened && <p className="muted">{t("flow.shortened")}</p>}
    </>
  );
}

function Value({ title, value }: { title: string; value: Json | undefined }) {
  const t = useWords();
  if (!hasContent(value)) return <p className="muted">{t("flow.nothing")}</p>;
  return <Code title={title} text={typeof value === "string" ? value : JSON.stringify(value)} />;
}

/** Each field by itself, so that the lines of a prompt stay lines. */
function Fields({ value }: { value: JsonObject }) {
  return Object.entries(value).map(([name, field]) => <Value key={name} title={name} value={field} />);
}

function hasContent(value: Json | undefined): value is Json {
  if (value === undefined || value === null || value === "") return false;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
