import { ApiError } from "../../api/client";
import type { Problem } from "../../api/plugins";
import { useWords } from "../../words";
import { Conflict } from "./Conflict";
import { Editor } from "./Editor";
import type { Check } from "./useCheck";
import type { OpenFile } from "./useFile";
import { useWorkbenchWords } from "./words";

interface Props {
  path: string | null;
  file: OpenFile;
  problems: Problem[];
  check: Check;
  isAuthor: boolean;
  canSave: boolean;
  hasPlugin: boolean;
  onReplace: (problem: Problem) => void;
  onDiscard: () => void;
  onSave: (force?: boolean) => void;
}

/** The open file in the editor, and below it what the check has found. */
export function FilePane(props: Props) {
  const t = useWorkbenchWords();
  const { path, file, problems, isAuthor, hasPlugin } = props;
  const note = useNote(props);
  if (note !== null || path === null || file.text === null) return <div className="file-pane empty">{note}</div>;
  return (
    <section className="file-pane" aria-label={path}>
      <h2 className="file-name">
        {path}
        {!file.isEditable && <span className="state-chip">{t("plugins.readOnly")}</span>}
        {file.isChanged && (
          <button type="button" className="button small" onClick={props.onDiscard}>
            {t("editor.discard")}
          </button>
        )}
      </h2>
      {file.theirs && (
        <Conflict theirs={file.theirs.text} mine={file.text} onTakeTheirs={file.discard} onKeepMine={file.overwrite} />
      )}
      {!file.theirs && file.saveError && <SaveError error={file.saveError} onForce={() => props.onSave(true)} />}
      <Editor
        key={path}
        path={path}
        text={file.text}
        isReadOnly={!file.isEditable}
        problems={isAuthor && hasPlugin ? problems.filter((problem) => problem.file === path) : []}
        onChange={file.change}
        onReplace={props.onReplace}
        onSave={() => props.onSave()}
      />
      <Status {...props} />
    </section>
  );
}

/** What stands in the place of the editor; null if there is a file to show. */
function useNote({ path, file, isAuthor, hasPlugin }: Props) {
  const t = useWorkbenchWords();
  const common = useWords();
  if (!hasPlugin) return <p>{t("plugins.missing")}</p>;
  if (!isAuthor) return <p className="muted">{t("plugins.authorsOnly")}</p>;
  if (path === null) return <p className="muted">{t("plugins.choose")}</p>;
  if (file.readError === null) return null;
  const status = file.readError instanceof ApiError ? file.readError.status : 0;
  if (status === 404) return <p>{t("plugins.missing")}</p>;
  return <p>{status === 415 ? t("plugins.notText") : common("error.unreachable")}</p>;
}

/** A file with errors can be saved in spite of them. */
function SaveError({ error, onForce }: { error: Error; onForce: () => void }) {
  const t = useWorkbenchWords();
  return (
    <p className="save-error problem" role="alert">
      <span className="plain">{error.message}</span>
      {error instanceof ApiError && error.status === 422 && (
        <button type="button" className="button small" onClick={onForce}>
          {t("editor.saveAnyway")}
        </button>
      )}
    </p>
  );
}

function Status({ problems, check, canSave }: Props) {
  const t = useWorkbenchWords();
  const count = (severity: Problem["severity"]) => problems.filter((problem) => problem.severity === severity).length;
  return (
    <footer className="file-status">
      <span role="status">
        {t("editor.errors", { count: count("error") })} · {t("editor.warnings", { count: count("warning") })}
      </span>
      <span className="muted">
        {check.error
          ? t("editor.notChecked", { message: check.error.message })
          : check.report && t("editor.checked", { ms: check.report.milliseconds })}
      </span>
      <span
        className="state-chip"
        data-state={canSave ? "running" : undefined}
        title={canSave ? "" : t("editor.offHint")}
      >
        {t(canSave ? "editor.editing" : "editor.off")}
      </span>
    </footer>
  );
}
