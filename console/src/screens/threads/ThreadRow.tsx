import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState, type MouseEvent } from "react";
import { Link } from "wouter";
import { changeThread } from "../../api/client";
import { useMe } from "../../api/queries";
import { UNKNOWN, useFormat } from "../../format";
import { Icon } from "../../parts/Icon";
import { showToast } from "../../parts/toasts";
import { useWords } from "../../words";
import type { RowPlace } from "./ListTable";
import { changeRow, type Pages } from "./pages";
import { deleteLater, setArchived } from "./removal";
import { RowMenu, type Action } from "./RowMenu";
import type { ThreadRowData } from "./Threads";
import { sumOf } from "./tokens";

interface Props {
  row: ThreadRowData;
  place: RowPlace;
  now: number;
  isArchived: boolean;
  isSelected: boolean;
  /** Shows the details beside the list; null if there is no room for them. */
  onSelect: (() => void) | null;
  isRenaming: boolean;
  onRename: (isRenaming: boolean) => void;
}

export function ThreadRow({ row, place, now, isArchived, isSelected, onSelect, isRenaming, onRename }: Props) {
  const t = useWords();
  const format = useFormat();
  const me = useMe().data;
  const isOwn = row.owner === me?.user;
  const name = row.name || t("threads.untitled");
  const number = (value: number | null) => (value === null ? UNKNOWN : format.number(value));
  return (
    <div
      className="list-row"
      role="row"
      data-testid="thread"
      data-id={row.id}
      data-state={row.state ?? undefined}
      data-owner={row.owner}
      data-selected={isSelected || undefined}
      {...place}
    >
      <span role="cell" className="title-cell">
        {isRenaming ? (
          <NameBox row={row} onDone={() => onRename(false)} />
        ) : (
          <Link
            to={`/threads/${encodeURIComponent(row.id)}`}
            className="row-link"
            title={name}
            onClick={(event) => {
              if (isSelected || onSelect === null || isByKeyboard(event) || isForAnotherTab(event)) return;
              event.preventDefault();
              onSelect();
            }}
            onKeyDown={(event) => {
              if (event.key !== " " || onSelect === null) return;
              event.preventDefault();
              onSelect();
            }}
          >
            {name}
          </Link>
        )}
        <span className="row-note">{row.last}</span>
      </span>
      <span role="cell">
        {row.state && (
          <span className="state-chip" data-state={row.state}>
            {t(`run.${row.state}`)}
          </span>
        )}
      </span>
      <span role="cell">{row.agent}</span>
      <span role="cell">{isOwn ? t("list.you") : row.owner}</span>
      <span role="cell" className="number">
        {number(row.runs)}
      </span>
      <span role="cell" className="number">
        {number(sumOf(row.tokens))}
      </span>
      <span role="cell" className="number">
        {row.milliseconds === null ? UNKNOWN : format.duration(row.milliseconds)}
      </span>
      <span role="cell" className="when" title={format.full(row.updated_at)}>
        {format.when(row.updated_at, now)}
      </span>
      <span role="cell" className="actions">
        {isOwn && <Actions row={row} name={name} isArchived={isArchived} onRename={() => onRename(true)} />}
      </span>
    </div>
  );
}

/** Enter opens the thread. */
const isByKeyboard = (event: MouseEvent) => event.detail === 0;
const isForAnotherTab = (event: MouseEvent) => event.ctrlKey || event.metaKey || event.shiftKey;

interface ActionsProps {
  row: ThreadRowData;
  name: string;
  isArchived: boolean;
  onRename: () => void;
}

function Actions({ row, name, isArchived, onRename }: ActionsProps) {
  const t = useWords();
  const button = useRef<HTMLButtonElement>(null);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const close = useCallback(() => setAnchor(null), []);
  const actions: Action[] = [
    { name: t("threads.rename"), icon: "edit", run: onRename },
    {
      name: t(isArchived ? "threads.unarchive" : "threads.archive"),
      icon: "archive",
      run: () => void setArchived(row.id, name, !isArchived, t),
    },
    { name: t("threads.delete"), icon: "trash", isDanger: true, run: () => deleteLater(row.id, name, t) },
  ];
  return (
    <>
      <button
        ref={button}
        type="button"
        className="icon-button"
        aria-label={t("threads.more")}
        aria-haspopup="menu"
        aria-expanded={anchor !== null}
        onClick={() => setAnchor(anchor ? null : button.current)}
      >
        <Icon name="more" />
      </button>
      {anchor && <RowMenu label={name} anchor={anchor} actions={actions} onClose={close} />}
    </>
  );
}

/** Enter and leaving it save the name; Escape does not. */
function NameBox({ row, onDone }: { row: ThreadRowData; onDone: () => void }) {
  const t = useWords();
  const queries = useQueryClient();
  const isDone = useRef(false);

  function show(name: string | null) {
    queries.setQueriesData<Pages<ThreadRowData>>(
      { queryKey: ["threads"] },
      (pages) => pages && changeRow(pages, row.id, { name }),
    );
  }

  function save(text: string) {
    if (isDone.current) return;
    isDone.current = true;
    const name = text.trim();
    onDone();
    if (name === "" || name === row.name) return;
    show(name);
    changeThread(row.id, { name }).catch((error: Error) => {
      show(row.name);
      showToast(`${t("threads.changeFailed", { name: row.name ?? "" })} ${error.message}`, { isProblem: true });
    });
  }

  return (
    <input
      className="field name-box"
      aria-label={t("threads.name")}
      defaultValue={row.name ?? ""}
      ref={(input) => {
        input?.select();
      }}
      onBlur={(event) => save(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") save(event.currentTarget.value);
        if (event.key === "Escape") {
          isDone.current = true;
          onDone();
        }
      }}
    />
  );
}
