import { useState, type KeyboardEvent, type ReactNode } from "react";
import { useLocation } from "wouter";
import { useWords } from "../words";
import { Icon } from "./Icon";

/** Links of the navigation that a phone has no room for: there they are in a menu. */
export function MoreLinks({ children }: { children: ReactNode }) {
  const t = useWords();
  const [location] = useLocation();
  const [openAt, setOpenAt] = useState<string | null>(null); // another address closes the menu
  const isOpen = openAt === location;

  function onKeyDown(event: KeyboardEvent<HTMLDivElement>) {
    if (event.key === "Escape") setOpenAt(null);
  }

  return (
    <>
      <button
        type="button"
        className="nav-link on-phones"
        aria-expanded={isOpen}
        aria-controls="more-links"
        onClick={() => setOpenAt(isOpen ? null : location)}
      >
        <Icon name="more" />
        {t("nav.more")}
      </button>
      {/* A key press in a link bubbles up to here. */}
      <div id="more-links" className="more-links" data-open={isOpen} role="presentation" onKeyDown={onKeyDown}>
        {children}
      </div>
    </>
  );
}
