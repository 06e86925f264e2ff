/** Asks what the case expects, shows what would be written, and writes or offers it. */
import { useEffect, useId, useMemo, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import type { RunChanges } from "../../api/types";
import { Code } from "../Code";
import { Dialog } from "../Dialog";
import { filesOf, usePin, usePreview, useDatasets, type PinnedLine } from "./api";
import { useCasesWords } from "./words";
import "./pin.css";

const FIRST_DATASET = "cases";
const DATASET = "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,80}"; // as the server

interface Props {
  run: string;
  /** The expectation that the form begins with. */
  wrong: string;
  /** Those of a rerun that is kept. */
  changes?: RunChanges | undefined;
  onClose: () => void;
}

export default function PinDialog({ run, wrong, changes, onClose }: Props) {
  const t = useCasesWords();
  const [pinned, setPinned] = useState<PinnedLine | null>(null);
  return (
    <Dialog title={t("pin.title")} onClose={onClose}>
      {pinned === null ? (
        <PinForm run={run} wrong={wrong} changes={changes} onPinned={setPinned} onClose={onClose} />
      ) : (
        <Pinned line={pinned} onClose={onClose} />
      )}
    </Dialog>
  );
}

function PinForm({ run, wrong, changes, onPinned, onClose }: Props & { onPinned: (line: PinnedLine) => void }) {
  const t = useCasesWords();
  const id = useId();
  const mayList = useMe().data?.rights.read?.includes("*") ?? false;
  const { data: known, isPending } = useDatasets(mayList);
  const [typed, setTyped] = useState<string | null>(null);
  const [fields, setFields] = useState({ name: "", wrong, consent: "" });
  const [seen, setSeen] = useState(fields); // of the preview: it does not follow every letter
  const { mutate, isPending: isSending, error } = usePin(run);
  const dataset = typed ?? known?.datasets[0]?.name ?? FIRST_DATASET;
  const needsConsent = known?.rules.needs_consent ?? false;
  const preview = usePreview(
    run,
    { dataset: FIRST_DATASET, ...given(seen), ...(changes && { changes }) },
    (!mayList || !isPending) && (!needsConsent || seen.consent.trim() !== ""),
  );

  function submit(event: FormEvent) {
    event.preventDefault();
    mutate({ dataset, ...given(fields), ...(changes && { changes }) }, { onSuccess: onPinned });
  }
  const field = (name: keyof typeof fields) => ({
    id: `${id}-${name}`,
    className: "field",
    dir: "auto" as const,
    value: fields[name],
    "aria-describedby": `${id}-${name}-hint`,
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
    onBlur: () => setSeen(fields),
  });

  return (
    <form className="pin-form" onSubmit={submit}>
      <p className="muted">{t("pin.hint")}</p>
      <div className="pin-names">
        <label>
          <span className="label">{t("pin.dataset")}</span>
          <input
            className="field"
            list={`${id}-datasets`}
            required
            pattern={DATASET}
            autoComplete="off"
            spellCheck={false}
            value={dataset}
            onChange={(event) => setTyped(event.target.value)}
          />
          <datalist id={`${id}-datasets`}>
            {known?.datasets.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        <div>
          <label className="label" htmlFor={`${id}-name`}>
            {t("pin.name")}
          </label>
          <input {...field("name")} maxLength={200} autoComplete="off" />
          <p id={`${id}-name-hint`} className="muted hint">
            {t("pin.nameHint")}
          </p>
        </div>
      </div>
      <div>
        <label className="label" htmlFor={`${id}-wrong`}>
          {t("pin.wrong")}
        </label>
        <textarea {...field("wrong")} rows={3} />
        <p id={`${id}-wrong-hint`} className="muted hint">
          {t(changes ? "pin.wrongChangedHint" : "pin.wrongHint")}
        </p>
      </div>
      <div>
        <label className="label" htmlFor={`${id}-consent`}>
          {t("pin.consent")}
        </label>
        <input {...field("consent")} required={needsConsent} autoComplete="off" />
        <p id={`${id}-consent-hint`} className="muted hint">
          {t("pin.consentHint")}
        </p>
      </div>
      <Preview
        line={preview.data}
        error={preview.error}
        waits={needsConsent && seen.consent.trim() === ""}
        isLoading={preview.isFetching}
      />
      {error && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          {t("pin.cancel")}
        </button>
        <button type="submit" className="button primary" disabled={isSending}>
          {t("pin.submit")}
        </button>
      </div>
    </form>
  );
}

/** The fields that are filled in. */
function given(fields: Record<string, string>): Record<string, string> {
  const trimmed = Object.entries(fields).map(([name, value]) => [name, value.trim()] as const);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== ""));
}

interface PreviewProps {
  line: PinnedLine | undefined;
  error: Error | null;
  waits: boolean;
  isLoading: boolean;
}

function Preview({ line, error, waits, isLoading }: PreviewProps) {
  const t = useCasesWords();
  const format = useFormat();
  if (waits) return <p className="muted">{t("pin.needsConsent")}</p>;
  if (error) {
    return (
      <p className="problem" role="alert">
        {error.message}
      </p>
    );
  }
  if (!line) return <p className="muted">{isLoading && t("pin.previewing")}</p>;
  return (
    <div data-testid="pin-preview" data-redacted={line.redacted}>
      <p className="pin-facts">
        <span className="state-chip" data-state={line.redacted > 0 ? "waiting" : undefined}>
          {t(redactedWord(line.redacted), { count: format.number(line.redacted) })}
        </span>
        <span className="state-chip">
          {t(line.recorded === 1 ? "pin.recordedOne" : "pin.recorded", { count: format.number(line.recorded) })}
        </span>
      </p>
      {line.notes.map((note) => (
        <p key={note} className="muted hint">
          {note}
        </p>
      ))}
      <details className="pin-text">
        <summary>{t("pin.preview")}</summary>
        {/* It scrolls, so it can have the focus. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <div role="region" aria-label={t("pin.preview")} tabIndex={0}>
          <Code title="YAML" text={line.text ?? ""} />
        </div>
      </details>
    </div>
  );
}

function Pinned({ line, onClose }: { line: PinnedLine; onClose: () => void }) {
  const t = useCasesWords();
  const mayList = useMe().data?.rights.read?.includes("*") ?? false;
  const links = useLinks(line);
  const command = `rightseat eval run ${line.dataset}`;
  return (
    <div className="pin-form" role="status" data-testid="pinned" data-name={line.name}>
      <p>
        <strong>{t("pin.done", { name: line.name })}</strong> {line.file && t("pin.written", { file: line.file })}
      </p>
      {links.length > 0 && (
        <>
          <p>{t("pin.offered")}</p>
          <ul>
            {links.map(({ name, href }) => (
              <li key={name}>
                <a className="button" href={href} download={name.split("/").at(-1)}>
                  {t("pin.download", { file: name })}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      {line.notes.map((note) => (
        <p key={note} className="muted hint">
          {note}
        </p>
      ))}
      <p className="muted">{t("pin.run", { command })}</p>
      <div className="dialog-buttons">
        {mayList && (
          <Link to="/cases" className="button" onClick={onClose}>
            {t("pin.open")}
          </Link>
        )}
        <button type="button" className="button primary" onClick={onClose}>
          {t("pin.close")}
        </button>
      </div>
    </div>
  );
}

/** Addresses of the files of a case that the server did not write; they end with the dialog. */
function useLinks(line: PinnedLine): { name: string; href: string }[] {
  const links = useMemo(
    () => filesOf(line).map(({ name, content }) => ({ name, href: URL.createObjectURL(content) })),
    [line],
  );
  useEffect(() => () => links.forEach(({ href }) => URL.revokeObjectURL(href)), [links]);
  return links;
}

const redactedWord = (count: number) =>
  count === 0 ? "pin.redactedNone" : count === 1 ? "pin.redactedOne" : "pin.redacted";
