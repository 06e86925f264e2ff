import { useId, useState, type FormEvent } from "react";
import type { Json } from "../../log/events";
import { useWords } from "../../words";
import { initialText, readForm, WHOLE, type Field, type FieldProblem } from "./answers";
import { FieldInput } from "./FieldInput";

interface Props {
  fields: Field[];
  submit: string;
  cancel: string;
  onSubmit: (payload: Json) => void;
  onCancel: () => void;
}

/** A form from a JSON Schema: strings, numbers, booleans, enums; anything else is typed as JSON. */
export function Form({ fields, submit, cancel, onSubmit, onCancel }: Props) {
  const t = useWords();
  const id = useId();
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(fields.map((field) => [field.name, initialText(field)] as const)),
  );
  const [problems, setProblems] = useState<Record<string, FieldProblem>>({});

  function send(event: FormEvent) {
    event.preventDefault();
    const read = readForm(fields, texts);
    if ("problems" in read) setProblems(read.problems);
    else onSubmit(read.payload);
  }

  return (
    <form className="form" onSubmit={send} noValidate>
      {fields.map((field) => {
        const problem = problems[field.name];
        return (
          <div key={field.name} className="form-field">
            <label htmlFor={`${id}-${field.name}`}>{field.name === WHOLE ? t("question.answer") : field.name}</label>
            <FieldInput
              id={`${id}-${field.name}`}
              field={field}
              text={texts[field.name] ?? ""}
              isInvalid={problem !== undefined}
              onChange={(text) => setTexts({ ...texts, [field.name]: text })}
            />
            <span id={`${id}-${field.name}-about`} className="muted">
              {problem ? <span className="problem">{t(`question.${problem}`)}</span> : field.description}
            </span>
          </div>
        );
      })}
      <div className="buttons">
        <button type="submit" className="button primary">
          {submit}
        </button>
        <button type="button" className="button" onClick={onCancel}>
          {cancel}
        </button>
      </div>
    </form>
  );
}
