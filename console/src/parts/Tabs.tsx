import type { KeyboardEvent, ReactNode } from "react";
import "./tabs.css";

interface Props<Name extends string> {
  /** Names the tabs, and begins the ids of their elements. */
  id: string;
  label: string;
  names: readonly Name[];
  selected: Name;
  onSelect: (name: Name) => void;
  children: (name: Name) => ReactNode;
}

/** Tabs over the element with the id `ID-body`. Arrow keys go from one to the next. */
export function Tabs<Name extends string>({ id, label, names, selected, onSelect, children }: Props<Name>) {
  function onKeyDown(event: KeyboardEvent<HTMLDivElement>) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = names[(names.indexOf(selected) + step + names.length) % names.length];
    if (next === undefined) return;
    onSelect(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  }

  return (
    <div className="tabs" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-tab-${name}`}
          aria-selected={selected === name}
          aria-controls={`${id}-body`}
          tabIndex={selected === name ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {children(name)}
        </button>
      ))}
    </div>
  );
}
