import type { ReactNode } from "react";
import { useFormat } from "../../format";
import { Code } from "../Code";
import { textOf, type Changes, type CallRecord, type SentMessage, type SentTool } from "./calls";
import { diffTexts, type Step } from "./diff";
import { groupSteps } from "./groups";
import { usePromptWords } from "./words";

interface Props {
  changes: Changes;
  record: CallRecord;
  /** Whether what is as before is shown too. */
  isWhole: boolean;
}

/** Instructions, messages, tools and parameters of a model call. */
export function Sent({ changes, record, isWhole }: Props) {
  return (
    <>
      <Group name="instructions" steps={changes.instructions} isWhole={isWhole}>
        {(id, step, replaced) => (
          <Message
            message={record.messages[id]}
            step={step}
            replaced={replaced === undefined ? undefined : record.messages[replaced]}
          />
        )}
      </Group>
      <Group name="messages" steps={changes.messages} isWhole={isWhole}>
        {(id, step) => <Message message={record.messages[id]} step={step} />}
      </Group>
      <Group name="tools" steps={changes.tools} isWhole={isWhole}>
        {(id, step) => <Tool tool={record.tools[id]} step={step} />}
      </Group>
      <Group name="parameters" steps={changes.parameters} isWhole={isWhole}>
        {(text, step) => (
          <p className="sent-item mono" data-testid="sent-parameter" data-change={step.change}>
            <Mark step={step} />
            {text}
          </p>
        )}
      </Group>
    </>
  );
}

interface GroupProps {
  name: "instructions" | "messages" | "tools" | "parameters";
  steps: Step<string>[];
  isWhole: boolean;
  /** `replaced` is what was removed directly before. */
  children: (item: string, step: Step<string>, replaced?: string) => ReactNode;
}

/** Without changes, and not whole, it is a line. */
function Group({ name, steps, isWhole, children }: GroupProps) {
  const t = usePromptWords();
  const rows = groupSteps(steps, isWhole, name === "instructions");
  return (
    <section className="sent-group" aria-label={t(`prompt.${name}`)} data-testid="sent-group" data-name={name}>
      <h3>{t(`prompt.${name}`)}</h3>
      {rows.length === 0 && <p className="muted">{t("prompt.nothing")}</p>}
      {rows.map((row, index) =>
        "count" in row ? (
          <p key={index} className="muted sent-unchanged">
            {t("prompt.unchanged", { count: row.count })}
          </p>
        ) : (
          <div key={index}>{children(row.step.item, row.step, row.replaced)}</div>
        ),
      )}
    </section>
  );
}

function Mark({ step: { change } }: { step: Step<string> }) {
  const t = usePromptWords();
  if (change === "same") return null;
  return (
    <span className="sent-mark">
      <span aria-hidden="true">{change === "added" ? "+" : "−"}</span>
      <span className="visually-hidden">{t(`prompt.${change}`)}</span>
    </span>
  );
}

interface MessageProps {
  message: SentMessage | undefined;
  step: Step<string>;
  /** The message whose place it took. */
  replaced?: SentMessage | undefined;
}

const ROLES = ["system", "user", "assistant", "tool"] as const;

function Message({ message, step, replaced }: MessageProps) {
  const t = usePromptWords();
  if (!message) return null;
  const role = ROLES.find((one) => one === message.role);
  return (
    <article
      className="sent-item"
      data-testid="sent-message"
      data-role={message.role}
      data-change={replaced ? "changed" : step.change}
    >
      <header>
        {replaced ? <span className="state-chip">{t("prompt.changed")}</span> : <Mark step={step} />}
        <span className="state-chip">{role ? t(`prompt.role.${role}`) : message.role}</span>
      </header>
      {replaced ? <TextChanges before={textOf(replaced)} after={textOf(message)} /> : <Parts message={message} />}
    </article>
  );
}

function TextChanges({ before, after }: { before: string; after: string }) {
  return (
    <div className="sent-text">
      {diffTexts(before, after).map((step, index) => (
        <div key={index} className="sent-line" data-change={step.change} dir="auto">
          <Mark step={step} />
          {step.item || "\u00a0"}
        </div>
      ))}
    </div>
  );
}

function Parts({ message }: { message: SentMessage }) {
  const t = usePromptWords();
  const format = useFormat();
  return message.parts.map((part, index) => {
    switch (part.type) {
      case "text":
        return (
          <p key={index} className="sent-text" dir="auto">
            {part.text}
          </p>
        );
      case "call":
        return <Code key={index} title={t("prompt.part.call", { name: part.name })} text={part.arguments} />;
      case "result": {
        const word = part.error === null ? "prompt.part.result" : "prompt.part.error";
        return <Code key={index} title={t(word, { name: part.name })} text={part.content} />;
      }
      default:
        return (
          <p key={index} className="chip">
            {t("prompt.part.file", {
              name: part.name || t("prompt.unnamed"),
              type: part.media_type,
              bytes: format.number(part.bytes),
            })}
          </p>
        );
    }
  });
}

function Tool({ tool, step }: { tool: SentTool | undefined; step: Step<string> }) {
  if (!tool) return null;
  return (
    <details className="sent-item" data-testid="sent-tool" data-name={tool.name} data-change={step.change}>
      <summary>
        <Mark step={step} />
        <code>{tool.name}</code> <span className="muted">{tool.description}</span>
      </summary>
      <Code title="JSON Schema" text={JSON.stringify(tool.parameters)} />
    </details>
  );
}
