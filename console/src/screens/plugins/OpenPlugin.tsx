import { useMemo, useState, type ReactNode } from "react";
import type { PluginReport, Problem } from "../../api/plugins";
import { useMe } from "../../api/queries";
import { Header } from "../../parts/Header";
import type { ChangeDraft, PluginDrafts } from "./drafts";
import { textsOf } from "./drafts";
import { FilePane } from "./FilePane";
import { NewButtons } from "./NewButtons";
import { CASES, caseText } from "./newFile";
import { Panel } from "./Panel";
import { replaceIn } from "./replace";
import { useCheck } from "./useCheck";
import { useFile } from "./useFile";
import { useWorkbenchWords } from "./words";

interface Props {
  /** Null if the server has no such plugin. */
  plugin: PluginReport | null;
  path: string | null;
  title: string;
  isAuthor: boolean;
  drafts: PluginDrafts;
  changeDraft: ChangeDraft;
  onOpen: (file: string | null) => void;
  onOpenPlugin: (id: string) => void;
  tree: ReactNode;
}

/** One plugin: its files, the open one, and what can be done with the draft. */
export function OpenPlugin({ plugin, path, title, isAuthor, drafts, changeDraft, onOpen, onOpenPlugin, tree }: Props) {
  const t = useWorkbenchWords();
  const canSave = useMe().data?.edit === true && isAuthor;
  const id = plugin?.id ?? "";
  const files = useMemo(() => textsOf(drafts), [drafts]);
  const check = useCheck(id, files, isAuthor && plugin !== null);
  const file = useFile({ plugin: id, path: isAuthor && plugin !== null ? path : null, drafts, changeDraft });
  const [isForced, setIsForced] = useState(false);
  const problems = check.report?.problems ?? plugin?.problems ?? [];

  /** Of another file: it is opened, and can be mended there. */
  function replace(problem: Problem) {
    if (problem.file !== path || file.text === null) return onOpen(problem.file);
    const mended = replaceIn(file.text, problem);
    if (mended !== null) file.change(mended);
  }

  /** A new file is gone without its draft. */
  function discard() {
    file.discard();
    if (file.isNew) onOpen(null);
  }

  function begin(newPath: string, text: string) {
    changeDraft(newPath, { text, etag: null });
    onOpen(newPath);
  }

  function save(force = false) {
    setIsForced(force);
    if (canSave) file.save(force);
  }

  const paths = [...(plugin?.files ?? []).map((one) => one.path), ...Object.keys(drafts)];
  return (
    <div className="workbench">
      <Header title={title}>
        {plugin && <About plugin={plugin} />}
        {isAuthor && (
          <NewButtons
            plugin={plugin?.id ?? null}
            paths={paths}
            canSave={canSave}
            onFlow={begin}
            onPlugin={onOpenPlugin}
          />
        )}
        {isAuthor && canSave && (
          <button
            type="button"
            className="button primary"
            disabled={!file.isChanged || file.isSaving}
            onClick={() => save()}
          >
            {file.isSaving && !isForced ? t("editor.saving") : t("editor.save")}
          </button>
        )}
      </Header>
      <div className="workbench-body">
        {tree}
        <FilePane
          path={path}
          file={file}
          problems={problems}
          check={check}
          isAuthor={isAuthor}
          canSave={canSave}
          hasPlugin={plugin !== null}
          onReplace={replace}
          onDiscard={discard}
          onSave={save}
        />
        {plugin && (
          <Panel
            plugin={id}
            path={path}
            files={files}
            check={check}
            problems={problems}
            isAuthor={isAuthor}
            onReplace={isAuthor ? replace : null}
            onOpen={onOpen}
            onBeginCases={isAuthor && !paths.includes(CASES) ? (flow) => begin(CASES, caseText(flow)) : null}
          />
        )}
      </div>
    </div>
  );
}

function About({ plugin }: { plugin: PluginReport }) {
  const t = useWorkbenchWords();
  const parts = [
    ...(plugin.contacts.length > 0 ? [t("plugins.contacts", { hosts: plugin.contacts.join(", ") })] : []),
    ...plugin.secrets.map(({ name, set }) => t(set ? "plugins.secretSet" : "plugins.secretMissing", { name })),
  ];
  return (
    <p className="plugin-about muted">
      {plugin.version && <span className="state-chip">{plugin.version}</span>}
      <span>{parts.join(" · ")}</span>
    </p>
  );
}
