import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId, useState, type KeyboardEvent } from "react";
import { getThreads } from "../../api/client";
import { useKnownAgents } from "../../api/queries";
import type { Me } from "../../api/types";
import { navigate } from "../../location";
import { useWords } from "../../words";
import { Dialog } from "../Dialog";
import { findTargets, type Target } from "./targets";
import { usePaletteWords } from "./words";
import "./palette.css";

interface Props {
  mode: "find" | "keys";
  me: Me;
  onClose: () => void;
}

/** Finds a screen, a thread, an agent or a run by the keyboard, or lists the keys. */
export default function Palette({ mode, me, onClose }: Props) {
  const t = usePaletteWords();
  return (
    <Dialog title={t(mode === "find" ? "palette.title" : "palette.keys")} onClose={onClose}>
      {mode === "find" ? <Finder me={me} onClose={onClose} /> : <Keys onClose={onClose} />}
    </Dialog>
  );
}

const FOUND_THREADS = 6;

function Finder({ me, onClose }: Omit<Props, "mode">) {
  const t = usePaletteWords();
  const shared = useWords();
  const id = useId();
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(0);
  const agents = useKnownAgents();
  const wanted = useDeferredValue(words.trim());
  const found = useQuery({
    queryKey: ["palette", wanted],
    queryFn: ({ signal }) => getThreads({ q: wanted, archived: "all", limit: FOUND_THREADS }, signal),
    enabled: wanted !== "",
  });
  const targets = findTargets(words, { me, agents, threads: wanted === "" ? [] : (found.data?.threads ?? []) }, shared);
  const current = Math.min(chosen, targets.length - 1);

  function open(target: Target | undefined) {
    if (!target) return;
    onClose();
    navigate(target.to);
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") open(targets[current]);
    else if (event.key === "ArrowDown") setChosen(Math.min(current + 1, targets.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(current - 1, 0));
    else return;
    event.preventDefault();
  }

  return (
    <>
      <input
        className="field palette-field"
        role="combobox"
        aria-expanded={targets.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={targets.length > 0 ? `${id}-${current}` : undefined}
        aria-label={t("palette.find")}
        placeholder={t("palette.find")}
        dir="auto"
        autoComplete="off"
        spellCheck={false}
        ref={(field) => field?.focus()}
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t("palette.title")} className="palette-list">
        {targets.map((target, index) => (
          // The field has the focus and handles the keys.
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
          <div
            key={`${target.kind} ${target.to}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            data-testid="palette-target"
            onClick={() => open(target)}
          >
            <span dir="auto">{target.name}</span> <small>{t(`palette.${target.kind}`)}</small>
          </div>
        ))}
      </div>
      {targets.length === 0 && !found.isFetching && <p className="muted">{t("palette.none")}</p>}
    </>
  );
}

const KEYS = [
  ["⌘K / Ctrl+K", "find"],
  ["?", "keys"],
  ["Enter", "send"],
  ["Shift+Enter", "line"],
  ["Esc", "escape"],
] as const;

function Keys({ onClose }: { onClose: () => void }) {
  const t = usePaletteWords();
  return (
    <>
      <dl className="palette-keys">
        {KEYS.map(([keys, word]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{t(`palette.key.${word}`)}</dd>
          </div>
        ))}
      </dl>
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          {t("palette.close")}
        </button>
      </div>
    </>
  );
}
