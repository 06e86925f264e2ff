/** Runs a stored run again with changes, and shows both side by side. Nothing of it is stored. */
import { Suspense, useState } from "react";
import { Link } from "wouter";
import type { RerunForm } from "../../api/schema";
import type { AddedResult } from "../../api/types";
import { lazyPart } from "../../loadChunk";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useForm, useRerun } from "./api";
import { changesOf, findMissing, UNCHANGED } from "./changes";
import { Changes } from "./Changes";
import { Compared } from "./Compared";
import { useRerunWords } from "./words";
import "./rerun.css";

const PinDialog = lazyPart(() => import("../../parts/pin/PinDialog"));

export default function Rerun({ run }: { run: string }) {
  const t = useRerunWords();
  useShownThread(null);
  const { data: form, error } = useForm(run);
  const id = encodeURIComponent(run);
  return (
    <>
      <Header title={t("rerun.title")}>
        <Link
          className="link"
          to={form?.thread ? `/threads/${encodeURIComponent(form.thread)}?run=${id}` : `/runs?run=${id}`}
        >
          {t("rerun.back")}
        </Link>
      </Header>
      {error && <Notice text={error.message} />}
      {form && <Loaded run={run} form={form} />}
    </>
  );
}

function Loaded({ run, form }: { run: string; form: RerunForm }) {
  const t = useRerunWords();
  const [draft, setDraft] = useState(UNCHANGED);
  const [isKeeping, setIsKeeping] = useState(false);
  const { start, stop, ...progress } = useRerun(run);
  const changes = changesOf(draft, form);
  const missing = progress.outcome && findMissing(progress.outcome);
  return (
    <>
      <div className="page rerun">
        <form
          aria-label={t("rerun.changes")}
          onSubmit={(event) => {
            event.preventDefault();
            void start(changes);
          }}
        >
          <p className="muted">{t("rerun.hint")}</p>
          {form.notes.map((note) => (
            <p key={note} className="muted">
              {note}
            </p>
          ))}
          <Changes form={form} draft={draft} onChange={setDraft} />
          <div className="rerun-buttons">
            {/* With keys: one element for both would submit the form in the click that stops. */}
            {progress.isRunning ? (
              <button key="stop" type="button" className="button" onClick={stop}>
                {t("rerun.stop")}
              </button>
            ) : (
              <button key="start" type="submit" className="button primary">
                {t("rerun.start")}
              </button>
            )}
            <button type="button" className="button" onClick={() => setIsKeeping(true)}>
              {t("rerun.keep")}
            </button>
            <button type="button" className="button plain" onClick={() => setDraft(UNCHANGED)}>
              {t("rerun.reset")}
            </button>
          </div>
          {progress.problem && (
            <p className="problem" role="alert">
              {progress.problem}
            </p>
          )}
          {missing && (
            <Missing
              key={JSON.stringify(missing)}
              call={missing}
              onUse={(added) => {
                const next = { ...draft, added: [...draft.added, added] };
                setDraft(next);
                void start(changesOf(next, form));
              }}
            />
          )}
        </form>
        <Compared runs={form.runs} progress={progress} />
      </div>
      {isKeeping && (
        <Suspense fallback={null}>
          <PinDialog run={run} wrong="" changes={changes} onClose={() => setIsKeeping(false)} />
        </Suspense>
      )}
    </>
  );
}

/** The call that ended the rerun, with a field for its result. */
function Missing({ call, onUse }: { call: AddedResult; onUse: (added: AddedResult) => void }) {
  const t = useRerunWords();
  const [result, setResult] = useState("");
  return (
    <div className="rerun-missing" role="alert" data-testid="rerun-missing">
      <p>{t("rerun.diverged")}</p>
      <pre>
        <code>
          {call.tool} {JSON.stringify(call.arguments)}
        </code>
      </pre>
      <label>
        <span className="label">{t("rerun.typed", { name: call.tool })}</span>
        <textarea
          className="field"
          rows={3}
          dir="auto"
          value={result}
          onChange={(event) => setResult(event.target.value)}
        />
      </label>
      <button type="button" className="button" onClick={() => onUse({ ...call, result })}>
        {t("rerun.use")}
      </button>
    </div>
  );
}
