/** The fields of everything that can be changed. What is not touched is as in the run. */
import { useId } from "react";
import type { RerunForm } from "../../api/schema";
import type { Draft } from "./changes";
import { useRerunWords } from "./words";

interface Props {
  form: RerunForm;
  draft: Draft;
  onChange: (draft: Draft) => void;
}

export function Changes({ form, draft, onChange }: Props) {
  const t = useRerunWords();
  const id = useId();
  const question = form.messages.length - 1;
  const message = (place: number, label: string) => (
    <Text
      key={place}
      label={label}
      original={form.messages[place]?.text ?? ""}
      value={draft.messages[place]}
      onChange={(text) => onChange({ ...draft, messages: { ...draft.messages, [place]: text } })}
    />
  );
  return (
    <>
      {form.model === null && form.instructions === null ? (
        <p className="muted">{t("rerun.noInstructions")}</p>
      ) : (
        <Text
          label={t("rerun.instructions")}
          original={form.instructions ?? ""}
          value={draft.instructions ?? undefined}
          onChange={(instructions) => onChange({ ...draft, instructions })}
        />
      )}
      <div className="rerun-pair">
        {form.model !== null && (
          <label>
            <span className="label">{t("rerun.model")}</span>
            <select
              className="field"
              value={draft.model ?? form.model}
              onChange={(event) => onChange({ ...draft, model: event.target.value })}
            >
              {form.models.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          <span className="label">{t("rerun.temperature")}</span>
          <input
            className="field"
            type="number"
            min={0}
            max={2}
            step={0.1}
            placeholder={form.temperature === null ? t("rerun.asBefore") : String(form.temperature)}
            value={draft.temperature}
            onChange={(event) => onChange({ ...draft, temperature: event.target.value })}
          />
        </label>
      </div>
      {question > 0 && (
        <details>
          <summary>{t("rerun.earlier", { count: question })}</summary>
          {form.messages.slice(0, -1).map(({ role }, place) => message(place, t("rerun.role", { role })))}
        </details>
      )}
      {message(question, t("rerun.question"))}
      {form.results.length > 0 && (
        <details open>
          <summary>{t("rerun.results", { count: form.results.length })}</summary>
          {form.results.map(({ name, arguments: given, result, error }, place) => (
            <Text
              key={place}
              label={t("rerun.resultOf", { name })}
              note={`${JSON.stringify(given)}${error === null ? "" : ` · ${error}`}`}
              original={result}
              value={draft.results[place]}
              onChange={(text) => onChange({ ...draft, results: { ...draft.results, [place]: text } })}
            />
          ))}
        </details>
      )}
      {draft.added.length > 0 && <p className="muted">{t("rerun.added", { count: draft.added.length })}</p>}
      <label htmlFor={`${id}-missing`}>
        <span className="label">{t("rerun.missing")}</span>
        <select
          id={`${id}-missing`}
          className="field"
          value={draft.isStubbed ? "stub" : "fail"}
          onChange={(event) => onChange({ ...draft, isStubbed: event.target.value === "stub" })}
        >
          {(["fail", "stub"] as const).map((name) => (
            <option key={name} value={name}>
              {t(`rerun.missing.${name}`)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

interface TextProps {
  label: string;
  note?: string;
  original: string;
  value: string | undefined;
  onChange: (text: string) => void;
}

const MAX_ROWS = 12;

function Text({ label, note, original, value, onChange }: TextProps) {
  const t = useRerunWords();
  const shown = value ?? original;
  return (
    <label className="rerun-text">
      <span className="label">
        {label} {shown !== original && <span className="state-chip">{t("rerun.changed")}</span>}
      </span>
      {note && <code className="muted">{note}</code>}
      <textarea
        className="field"
        dir="auto"
        rows={Math.min(MAX_ROWS, Math.max(2, shown.split("\n").length))}
        value={shown}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
