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
  const values = argumentsOf(question);
  const { call, request, message } = question;
  const details = message.split("\n").slice(1).join("\n").trim();
  return (
    <>
      {(call || request?.head) && <code className="request">{call?.name ?? request?.head}</code>}
      {values && Object.keys(values).length > 0 && (
        <dl className="values">
          {Object.entries(values).map(([name, value]) => (
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
      {details && !request && <p className="plain">{details}</p>}
    </>
  );

  function originOf(name: string): string {
    const word = ORIGINS[String(request?.origins[name] ?? "")];
    return word ? t(word) : "";
  }
}

const show = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));
