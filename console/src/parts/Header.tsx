import { useEffect, type ReactNode } from "react";
import { useWaiting } from "../api/queries";

/** The head of a screen: its title, and what belongs to all of it. */
export function Header({ title, children }: { title: string; children?: ReactNode }) {
  const waiting = useWaiting();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · rightseat`;
  }, [title, waiting]);
  return (
    <header className="header">
      <h1 dir="auto">{title}</h1>
      {children}
    </header>
  );
}
