/** What copilots remember about a user: each memory with where it came from, and its deletion. */
import { useState } from "react";
import { Link } from "wouter";
import { useMe } from "../../api/queries";
import { mayDo } from "../../api/rights";
import { useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { Dialog } from "../../parts/Dialog";
import { Header } from "../../parts/Header";
import { useNow } from "../../useNow";
import { useWords } from "../../words";
import { useDelete, useMemories, type RememberedLine, type Shown } from "./api";
import { useMemoryWords } from "./words";
import "./memories.css";

export default function Memories() {
  const t = useMemoryWords();
  const me = useMe().data;
  useShownThread(null);
  const [{ owner, scope }, changeFilters] = useFilters<"owner" | "scope">();
  const mayRead = me?.rights.read != null && me.rights.watch !== null;
  const shown = { owner: owner ?? me?.user ?? "", isShared: scope === "project" };
  return (
    <>
      <Header title={t("memories.title")} />
      <div
        className="page memories"
        role="region"
        aria-label={t("memories.title")}
        // It scrolls, and an empty list has nothing else to focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <p className="muted">{t("memories.hint")}</p>
        {mayRead && <Whose key={shown.owner} shown={shown} onChange={(next) => changeFilters(next)} user={me.user} />}
        <List shown={shown} />
      </div>
    </>
  );
}

interface WhoseProps {
  shown: Shown;
  user: string;
  onChange: (next: { owner: string; scope: string }) => void;
}

/** Which user's memories are shown. */
function Whose({ shown, user, onChange }: WhoseProps) {
  const t = useMemoryWords();
  const [typed, setTyped] = useState(shown.owner === "*" ? "" : shown.owner);
  return (
    <form
      className="memory-filter"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ owner: typed.trim() || user, scope: "" });
      }}
    >
      <label>
        <span className="label">{t("memories.owner")}</span>
        <input
          className="field"
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
      <button type="submit" className="button">
        {t("memories.show")}
      </button>
      <button
        type="button"
        className="button"
        aria-pressed={shown.owner === "*" && !shown.isShared}
        onClick={() => onChange({ owner: "*", scope: "" })}
      >
        {t("memories.all")}
      </button>
      <button
        type="button"
        className="button"
        aria-pressed={shown.isShared}
        onClick={() => onChange({ owner: "", scope: "project" })}
      >
        {t("memories.shared")}
      </button>
    </form>
  );
}

function List({ shown }: { shown: Shown }) {
  const t = useMemoryWords();
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useMemories(shown);
  const [deleting, setDeleting] = useState<RememberedLine | null>(null);
  if (error) {
    return (
      <p className="problem" role="alert">
        {error.message}
      </p>
    );
  }
  const rows = data?.pages.flatMap((page) => page.memories) ?? [];
  return (
    <>
      {data && rows.length === 0 && (
        <div className="welcome">
          <h2>{t("memories.none")}</h2>
          <p className="muted">{t("memories.noneHint")}</p>
        </div>
      )}
      {rows.length > 0 && (
        <ul aria-label={t("memories.title")}>
          {rows.map((row) => (
            <li key={row.id} data-testid="memory" data-id={row.id} data-owner={row.owner ?? undefined}>
              <Memory row={row} onDelete={() => setDeleting(row)} />
            </li>
          ))}
        </ul>
      )}
      {hasNextPage && (
        <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("memories.more")}
        </button>
      )}
      {deleting && <Deletion row={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}

const KINDS = ["topical", "episodic", "operational"] as const;

function Memory({ row, onDelete }: { row: RememberedLine; onDelete: () => void }) {
  const t = useMemoryWords();
  const format = useFormat();
  const now = useNow();
  const me = useMe().data;
  const { source, owner } = row;
  const kind = KINDS.find((one) => one === row.kind);
  const run = source.run && `?run=${encodeURIComponent(source.run)}`;
  return (
    <>
      <blockquote dir="auto">{row.text}</blockquote>
      <p className="memory-facts">
        <span className="state-chip">{kind ? t(`memories.kind.${kind}`) : row.kind}</span>
        {owner === null && <span className="state-chip">{t("memories.isShared")}</span>}
        <span>
          {row.created_by === "person" ? t("memories.byPerson") : t("memories.byModel", { agent: row.agent ?? "" })}
        </span>
        {owner !== null && owner !== me?.user && <span>{t("memories.of", { owner })}</span>}
        {row.approved_by && <span>{t("memories.approved", { user: row.approved_by })}</span>}
        <time dateTime={row.updated_at} title={format.full(row.updated_at)}>
          {format.ago(row.updated_at, now)}
        </time>
        {row.expires_at && <span>{t("memories.expires", { when: format.full(row.expires_at) })}</span>}
      </p>
      {source.tools.length > 0 && <p className="muted">{t("memories.read", { names: source.tools.join(", ") })}</p>}
      <p className="memory-actions">
        {source.thread ? (
          <Link to={`/threads/${encodeURIComponent(source.thread)}${run ?? ""}`}>
            {t(source.message ? "memories.message" : "memories.thread")}
          </Link>
        ) : (
          <span className="muted">{t("memories.noSource")}</span>
        )}
        {(owner === me?.user || mayDo(me, "act", "*")) && (
          <button type="button" className="button" onClick={onDelete}>
            {t("memories.delete")}
          </button>
        )}
      </p>
    </>
  );
}

function Deletion({ row, onClose }: { row: RememberedLine; onClose: () => void }) {
  const t = useMemoryWords();
  const common = useWords();
  const { mutate, isPending, error } = useDelete();
  return (
    <Dialog title={t("memories.deleteTitle")} onClose={onClose}>
      <blockquote dir="auto">{row.text}</blockquote>
      <p>{t("memories.keeps")}</p>
      {error && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          {common("question.back")}
        </button>
        <button
          type="button"
          className="button danger"
          disabled={isPending}
          onClick={() => mutate(row, { onSuccess: onClose })}
        >
          {t("memories.deleteNow")}
        </button>
      </div>
    </Dialog>
  );
}
