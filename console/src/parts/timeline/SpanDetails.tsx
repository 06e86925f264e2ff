/** What went into a span and what came out of it, with the ids of its log entries that `rightseat replay` prints. */
import { Fragment, Suspense } from "react";
import { useMe } from "../../api/queries";
import { mayDo } from "../../api/rights";
import { useFormat } from "../../format";
import { lazyPart } from "../../loadChunk";
import type { Entry } from "../../log/events";
import { isObject, type Item } from "../../log/fold";
import { lengthOf, type Span } from "../../log/timeline";
import { useWords, type Word } from "../../words";
import { Code } from "../Code";
import { Icon } from "../Icon";
import type { ShownRuns } from "./Timeline";

const Prompt = lazyPart(() => import("../prompt/Prompt"));

interface Props {
  span: Span;
  snapshot: ShownRuns;
  now: number;
  isStored: boolean;
  onClose: () => void;
}

export function SpanDetails({ span, snapshot, now, isStored, onClose }: Props) {
  const t = useWords();
  const me = useMe().data;
  const run = snapshot.conversation.timeline.runs.find((one) => one.id === span.run);
  const name = span.kind === "wait" ? t("timeline.wait") : span.name;
  return (
    <section className="span-details" aria-label={t("timeline.details")}>
      <header data-kind={span.kind}>
        <h2>{name}</h2>
        <span className="state-chip" data-kind={span.kind}>
          {t(`timeline.kind.${span.kind}`)}
        </span>
        {span.reason && <span className="state-chip">{span.reason}</span>}
        {span.error && (
          <span className="state-chip" data-state={span.state}>
            {span.error}
          </span>
        )}
        <span className="entry-ids">{entryIds(span, snapshot.entries)}</span>
        <button type="button" className="icon-button" aria-label={t("timeline.closeDetails")} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <Numbers span={span} now={now} />
      {textsOf(span, snapshot).map(({ title, text }, index) => (
        <Code key={index} title={t(title)} text={text} />
      ))}
      {span.kind === "model" && isStored && mayDo(me, "read", run?.agent ?? "") && (
        <Suspense fallback={null}>
          <Prompt key={span.key} run={span.run} span={span.id} isRunning={run?.state === "running"} />
        </Suspense>
      )}
    </section>
  );
}

function Numbers({ span, now }: { span: Span; now: number }) {
  const t = useWords();
  const format = useFormat();
  const { input_tokens: input, output_tokens: output, cache_read_tokens: cached } = span.usage;
  const numbers: [Word, string][] = [["details.time", format.duration(lengthOf(span, now))]];
  if (span.first !== null) {
    numbers.push(["details.first", format.duration(span.first - span.from)]);
    numbers.push(["details.then", format.duration((span.to ?? now) - span.first)]);
  }
  if (typeof input === "number") numbers.push(["details.in", format.number(input)]);
  if (cached) numbers.push(["details.cached", format.number(cached)]);
  if (typeof output === "number") numbers.push(["details.out", format.number(output)]);
  numbers.push(["details.start", format.duration(span.from)]);
  return (
    <dl className="numbers">
      {numbers.map(([title, value]) => (
        <Fragment key={title}>
          <dt>{t(title)}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function entryIds(span: Span, entries: readonly Entry[]): string {
  const first = entries[span.begin]?.id ?? "";
  const last = span.end === null ? "…" : (entries[span.end]?.id ?? "");
  return `${first} – ${last}`;
}

interface Text {
  title: Word;
  text: string;
}

/** Of spans whose texts the user may not see, there are none. */
function textsOf(span: Span, { conversation, entries }: ShownRuns): Text[] {
  switch (span.kind) {
    case "tool":
      return callTexts(conversation.items, span.about.call);
    case "model":
      return modelTexts(entriesOf(span, entries));
    case "step":
      return stepTexts(span, entriesOf(span, entries));
    case "run":
      return questionTexts(conversation.items, span.run);
    case "wait":
      return [];
  }
}

const entriesOf = (span: Span, entries: readonly Entry[]) =>
  entries.slice(span.begin, span.end ?? undefined).filter((entry) => entry.run === span.run);

function callTexts(items: readonly Item[], id: unknown): Text[] {
  const call = items.find((item) => item.kind === "call" && item.id === id);
  if (call?.kind !== "call") return [];
  const input: Text = { title: "call.input", text: call.arguments };
  return call.result === null ? [input] : [input, { title: "call.output", text: call.result }];
}

function modelTexts(entries: readonly Entry[]): Text[] {
  const parts = new Map<string, Text>();
  for (const { event } of entries) {
    if (event.type === "TextDelta") append(parts, `text ${event.message_id}`, "details.text", event.text);
    if (event.type === "ReasoningDelta") append(parts, `think ${event.message_id}`, "chat.reasoning", event.text);
    if (event.type === "ToolCallStarted") append(parts, `call ${event.call_id}`, "details.call", `${event.name} `);
    if (event.type === "ToolCallDelta") append(parts, `call ${event.call_id}`, "details.call", event.text);
  }
  return [...parts.values()];
}

function append(parts: Map<string, Text>, key: string, title: Word, text: string): void {
  parts.set(key, { title, text: (parts.get(key)?.text ?? "") + text });
}

function stepTexts(span: Span, entries: readonly Entry[]): Text[] {
  return entries.flatMap(({ event }): Text[] => {
    if (event.type !== "Custom" || event.name !== "flow.step" || !isObject(event.value)) return [];
    const { step, ...record } = event.value;
    return step === span.name ? [{ title: "details.record", text: JSON.stringify(record) }] : [];
  });
}

function questionTexts(items: readonly Item[], run: string): Text[] {
  return items.flatMap((item): Text[] =>
    item.kind === "message" && item.run === run && item.role === "user"
      ? [{ title: "details.question", text: item.text }]
      : [],
  );
}
