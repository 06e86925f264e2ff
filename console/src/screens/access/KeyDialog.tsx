import { useState, type FormEvent } from "react";
import { useFormat } from "../../format";
import { Dialog } from "../../parts/Dialog";
import type { KeyLine } from "./api";
import { useAccessWords } from "./words";

interface Props {
  line: KeyLine;
  change: "rotate" | "revoke";
  /** Whether the user is signed in with this key. */
  isOwn: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before a key changes. The name of one's own key must be typed to revoke it: the session ends with it. */
export function KeyDialog({ line, change, isOwn, onConfirm, onClose }: Props) {
  const t = useAccessWords();
  const format = useFormat();
  const [typed, setTyped] = useState("");
  const { name } = line;
  const isRevoking = change === "revoke";
  const isGuarded = isRevoking && isOwn;
  const isReady = !isGuarded || typed.trim() === name;

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!isReady) return;
    onClose();
    onConfirm();
  }

  return (
    <Dialog title={t(isRevoking ? "access.ask.revoke" : "access.ask.rotate", { name })} onClose={onClose}>
      <form onSubmit={submit}>
        <p>{t(isGuarded ? "access.ask.own" : isRevoking ? "access.ask.ends" : "access.ask.overlap")}</p>
        <p className="muted">
          {line.last_used_at
            ? t("access.ask.lastUsed", { user: line.user, when: format.full(line.last_used_at) })
            : t("access.ask.neverUsed", { user: line.user })}
        </p>
        {isGuarded && (
          <label>
            <span className="label">{t("access.ask.type", { name })}</span>
            <input
              className="field"
              autoComplete="off"
              spellCheck={false}
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
        )}
        <div className="dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            {t("access.ask.cancel")}
          </button>
          <button type="submit" className={isRevoking ? "button danger" : "button primary"} disabled={!isReady}>
            {t(isRevoking ? "access.revoke" : "access.rotate")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
