/** The actions of a row, in a menu at its button. */
import { useEffect, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import { createPortal } from "react-dom";
import { Icon, type IconName } from "../../parts/Icon";

export interface Action {
  name: string;
  icon: IconName;
  isDanger?: boolean;
  run: () => void;
}

interface Props {
  label: string;
  /** The button that opened it. */
  anchor: HTMLElement;
  actions: readonly Action[];
  onClose: () => void;
}

const MARGIN_PX = 8;

export function RowMenu({ label, anchor, actions, onClose }: Props) {
  const menu = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const node = menu.current;
    if (!node) return;
    const at = anchor.getBoundingClientRect();
    const { width, height } = node.getBoundingClientRect();
    const below = at.bottom + 4 + height <= innerHeight - MARGIN_PX;
    node.style.top = `${below ? at.bottom + 4 : at.top - 4 - height}px`;
    node.style.left = `${Math.max(MARGIN_PX, at.right - width)}px`;
    node.querySelector("button")?.focus();
  }, [anchor]);

  useEffect(() => {
    const closeOutside = (event: Event) => {
      if (!menu.current?.contains(event.target as Node)) onClose();
    };
    addEventListener("pointerdown", closeOutside, true);
    addEventListener("scroll", onClose, true);
    addEventListener("resize", onClose);
    return () => {
      removeEventListener("pointerdown", closeOutside, true);
      removeEventListener("scroll", onClose, true);
      removeEventListener("resize", onClose);
    };
  }, [onClose]);

  function onKeyDown(event: KeyboardEvent) {
    const buttons = [...(menu.current?.querySelectorAll("button") ?? [])];
    const current = buttons.findIndex((button) => button === document.activeElement);
    const moves: Record<string, () => void> = {
      ArrowDown: () => buttons.at((current + 1) % buttons.length)?.focus(),
      ArrowUp: () => buttons.at(current - 1)?.focus(),
      Home: () => buttons[0]?.focus(),
      End: () => buttons.at(-1)?.focus(),
      Escape: close,
      Tab: close,
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  }

  function close() {
    onClose();
    anchor.focus();
  }

  return createPortal(
    <div ref={menu} className="menu" role="menu" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {actions.map((action) => (
        <button
          key={action.name}
          type="button"
          role="menuitem"
          data-danger={action.isDanger || undefined}
          onClick={() => {
            close();
            action.run();
          }}
        >
          <Icon name={action.icon} />
          {action.name}
        </button>
      ))}
    </div>,
    document.body, // a row has a transform, which would move it
  );
}
