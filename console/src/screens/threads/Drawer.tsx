/** The panel beside a list: its close button, its error, and its content once it is loaded. */
import type { ReactNode } from "react";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";
import { useListWords } from "./words";
import "./drawer.css";

/** In a narrower window there is no room for it. */
export const DRAWER_WINDOW_PX = 1280;

interface Props {
  label: string;
  /** Of what it shows. */
  id: string;
  error: Error | null;
  isLoading: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function Drawer({ label, id, error, isLoading, onClose, children }: Props) {
  const t = useWords();
  const own = useListWords();
  return (
    <aside className="drawer" aria-label={label} data-testid="drawer" data-id={id}>
      <button type="button" className="icon-button close" aria-label={own("drawer.close")} onClick={onClose}>
        <Icon name="close" />
      </button>
      {error && (
        <p className="problem" role="alert">
          {error.message}
        </p>
      )}
      {children}
      {isLoading && !error && <p className="muted">{t("list.loading")}</p>}
    </aside>
  );
}
