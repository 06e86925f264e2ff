import { useRef, type KeyboardEvent } from "react";
import type { PluginFile, PluginReport } from "../../api/plugins";
import { Icon } from "../../parts/Icon";
import type { PluginDrafts } from "./drafts";
import { newPathsOf } from "./newFile";
import { useWorkbenchWords } from "./words";

interface Props {
  plugins: PluginReport[];
  plugin: string | null;
  path: string | null;
  drafts: PluginDrafts;
  onOpen: (plugin: string, path: string | null) => void;
}

/** The plugins, and the files of the chosen one by folder. Arrow keys go from one to the next. */
export function FileTree({ plugins, plugin, path, drafts, onOpen }: Props) {
  const t = useWorkbenchWords();
  const tree = useRef<HTMLUListElement>(null);
  const current = path === null ? plugin : `${plugin}/${path}`;
  const first = plugins[0]?.id;

  function onKeyDown(event: KeyboardEvent) {
    const items = [...(tree.current?.querySelectorAll<HTMLElement>("[role=treeitem] > button") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
    const target = items[targets[event.key] ?? -1];
    if (!target) return;
    event.preventDefault();
    target.focus();
  }

  return (
    <ul className="file-tree" role="tree" aria-label={t("plugins.files")} ref={tree} onKeyDown={onKeyDown}>
      {plugins.map((one) => (
        <li
          key={one.id}
          role="treeitem"
          aria-level={1}
          aria-expanded={one.id === plugin}
          aria-selected={current === one.id}
        >
          <button
            type="button"
            className="tree-plugin"
            tabIndex={one.id === (plugin ?? first) ? 0 : -1}
            onClick={() => onOpen(one.id, null)}
          >
            <Icon name="right" />
            {one.id}
            <PluginState plugin={one} />
          </button>
          {one.id === plugin && (
            <ul role="group">
              {byFolder(addNew(one.files, drafts)).map(([folder, files]) => (
                <FolderFiles key={folder} folder={folder}>
                  {files.map((file) => (
                    <li key={file.path} role="treeitem" aria-level={2} aria-selected={path === file.path}>
                      <button
                        type="button"
                        className="tree-file"
                        tabIndex={path === file.path ? 0 : -1}
                        aria-current={path === file.path ? "true" : undefined}
                        title={file.path}
                        onClick={() => onOpen(one.id, file.path)}
                      >
                        <Icon name={folder === "flows" ? "flow" : "file"} />
                        <span>{file.path.slice(folder === "" ? 0 : folder.length + 1)}</span>
                        {file.path in drafts && <span className="unsaved">{t("plugins.changed")}</span>}
                      </button>
                    </li>
                  ))}
                </FolderFiles>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
}

function FolderFiles({ folder, children }: { folder: string; children: React.ReactNode }) {
  return (
    <>
      {folder !== "" && (
        <li role="presentation" className="tree-folder">
          {folder}
        </li>
      )}
      {children}
    </>
  );
}

/** A mark for a plugin with problems, and its state for readers. */
function PluginState({ plugin }: { plugin: PluginReport }) {
  const t = useWorkbenchWords();
  const text = t(`plugins.state.${plugin.state}`);
  return (
    <span className="plugin-state" data-state={plugin.state} title={text}>
      <span className="dot" aria-hidden="true" />
      <span className="visually-hidden">{text}</span>
    </span>
  );
}

/** The files of the folder, and the new ones that are drafts. */
function addNew(files: PluginFile[], drafts: PluginDrafts): PluginFile[] {
  const known = new Set(files.map((file) => file.path));
  const added = newPathsOf(drafts).filter((path) => !known.has(path));
  return [...files, ...added.map((path) => ({ path, size: 0, editable: true }))];
}

/** Files of the plugin's own folder first. */
function byFolder(files: PluginFile[]): [string, PluginFile[]][] {
  const folders = new Map<string, PluginFile[]>([["", []]]);
  for (const file of files) {
    const folder = file.path.split("/").slice(0, -1).join("/");
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return [...folders];
}
