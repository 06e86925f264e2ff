import type { Json } from "../../log/events";
import { useWords, type Word } from "../../words";
import { argumentsOf, type QuestionData } from "./answers";

const ORIGINS: Record<string, Word> = {
  question: "question.from.question",
  context: "question.from.context",
  data: "question.from.data",
  default: "question.from.default",
  args: "question.from.args",
  user: "question.from.user",
  ungrounded: "question.from.ungrounded",
};

/** What would be sent, and where each value comes from. Without a known request, the rest of the message says it. */
export function Request({ question }: { question: QuestionData }) {
  const t = useWords();
  const { call, request, message } = question;
  const details = message.split("\n").slice(1).join("\n").trim();
  const values = argumentsOf(question);
  const rows = Object.entries(values ?? {}).filter(([, value]) => !isQuoted(value));
  return (
    <>
      {(call || request?.head) && <code className="request">{call?.name ?? request?.head}</code>}
      {rows.length > 0 && (
        <dl className="values">
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{show(value)}</code>
              </dd>
              <dd className="origin">{originOf(name)}</dd>
            </div>
          ))}
        </dl>
      )}
      {call && !values && <code className="request">{call.arguments}</code>}
      {details && !request && (
        <p className="plain" dir="auto">
          {details}
        </p>
      )}
    </>
  );

  /** Whether the details have the whole text, such as that of a memory: it would stand there twice. */
  function isQuoted(value: Json): boolean {
    return typeof value === "string" && !request && value.length > 1 && details.includes(`“${value}”`);
  }

  function originOf(name: string): string {
    const word = ORIGINS[String(request?.origins[name] ?? "")];
    return word ? t(word) : "";
  }
}

const show = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));
