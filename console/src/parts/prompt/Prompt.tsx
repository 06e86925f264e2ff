/** Each model call of a run with what was sent; what changed since the call before it comes first. */
import { useId, useMemo, useState } from "react";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import { useWords } from "../../words";
import { Copyable } from "../Copyable";
import { CopyIcon } from "../CopyIcon";
import { useCalls } from "./api";
import {
  asSent,
  diffCalls,
  findPrevious,
  hasChanges,
  joinPages,
  writeCall,
  type ModelCallLine,
  type CallRecord,
} from "./calls";
import { Sent } from "./Sent";
import { usePromptWords } from "./words";
import "./prompt.css";

const SWITCH = "evals: {record_prompts: true}";

interface Props {
  run: string;
  isRunning: boolean;
  /** Only the calls of this span. */
  span?: string;
}

export default function Prompt({ run, isRunning, span }: Props) {
  const t = usePromptWords();
  const common = useWords();
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useCalls(run, isRunning);
  const record = useMemo(() => joinPages(data?.pages ?? []), [data]);
  const shown = record.calls.flatMap((call, index) => (span === undefined || call.span === span ? [index] : []));
  if (isPending) return <p className="panel-empty muted">{common("timeline.loading")}</p>;
  if (error) {
    return (
      <p className="panel-empty problem" role="alert">
        {t("prompt.failed", { message: error.message })}
      </p>
    );
  }
  if (record.calls.length === 0 && data.pages[0]?.is_on === false) return <NotRecorded isShort={span !== undefined} />;
  return (
    <section className="prompt" aria-label={t("prompt.name")}>
      {shown.length === 0 && <p className="muted">{t(span === undefined ? "prompt.none" : "prompt.noneOfSpan")}</p>}
      <ol aria-label={t("prompt.calls")}>
        {shown.map((index) => (
          <li key={record.calls[index]?.call}>
            <Call record={record} index={index} isOpenFirst={index === shown.at(-1)} />
          </li>
        ))}
      </ol>
      {hasNextPage && (
        <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("prompt.more")}
        </button>
      )}
    </section>
  );
}

function NotRecorded({ isShort }: { isShort: boolean }) {
  const t = usePromptWords();
  if (isShort) return <p className="muted">{t("prompt.notRecorded")}</p>;
  return (
    <section className="prompt" aria-label={t("prompt.name")} data-testid="prompt-off">
      <p>{t("prompt.notRecorded")}</p>
      <p className="muted">{t("prompt.switchOn")}</p>
      <Copyable title="rightseat.yaml" text={SWITCH} />
    </section>
  );
}

interface CallProps {
  record: CallRecord;
  index: number;
  isOpenFirst: boolean;
}

function Call({ record, index, isOpenFirst }: CallProps) {
  const [isOpen, setIsOpen] = useState(isOpenFirst);
  const call = record.calls[index];
  if (!call) return null;
  return (
    <details
      className="sent-call"
      data-testid="sent-call"
      data-span={call.span ?? undefined}
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>
        <CallHead call={call} number={index + 1} />
      </summary>
      {isOpen && <CallBody record={record} call={call} index={index} />}
    </details>
  );
}

function CallHead({ call, number }: { call: ModelCallLine; number: number }) {
  const t = usePromptWords();
  const format = useFormat();
  const currency = useMe().data?.currency;
  const { usage } = call;
  return (
    <>
      <strong>{t("prompt.call", { number: format.number(number) })}</strong>{" "}
      <span className="state-chip" data-kind="model">
        {call.model}
      </span>{" "}
      {call.error && (
        <span className="state-chip" data-state="failed">
          {call.error}
        </span>
      )}{" "}
      <span className="muted">
        {call.agent}
        {call.purpose !== "answer" && ` · ${t("prompt.purpose", { purpose: call.purpose })}`} ·{" "}
        {usage
          ? t("prompt.tokens", {
              in: format.number(usage.input_tokens),
              out: format.number(usage.output_tokens),
            })
          : t("prompt.open")}
        {call.cost !== null && ` · ${format.cost(call.cost, currency)}`}
      </span>
    </>
  );
}

const VIEWS = ["changes", "all"] as const;

function CallBody({ record, call, index }: { record: CallRecord; call: ModelCallLine; index: number }) {
  const t = usePromptWords();
  const format = useFormat();
  const name = useId();
  const previous = findPrevious(record.calls, index);
  const before = previous === null ? undefined : record.calls[previous];
  const [chosen, setChosen] = useState<(typeof VIEWS)[number]>("changes");
  const view = before ? chosen : "all";
  const changes = useMemo(
    () => (before && view === "changes" ? diffCalls(before, call) : asSent(call)),
    [before, call, view],
  );
  const isSame = view === "changes" && !hasChanges(changes);
  const number = format.number((previous ?? 0) + 1);
  if (call.omitted !== null) return <p className="sent-note">{call.omitted}</p>;
  return (
    <div className="sent-body">
      <div className="sent-bar">
        {before ? (
          <fieldset className="sent-views">
            <legend className="visually-hidden">{t("prompt.view")}</legend>
            {VIEWS.map((one) => (
              <label key={one}>
                <input type="radio" name={name} checked={view === one} onChange={() => setChosen(one)} />
                {t(`prompt.view.${one}`)}
              </label>
            ))}
          </fieldset>
        ) : (
          <p className="muted">{t("prompt.first", { agent: call.agent })}</p>
        )}
        <CopyIcon text={writeCall(call, record)} name={t("prompt.copy")} />
      </div>
      {view === "changes" && (
        <p className="muted" data-testid="sent-compared">
          {t(isSame ? "prompt.same" : "prompt.comparedWith", { number })}
        </p>
      )}
      <Sent changes={changes} record={record} isWhole={view === "all"} />
    </div>
  );
}
