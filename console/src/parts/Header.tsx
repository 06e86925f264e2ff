import type { ReactNode } from "react";

/** The head of a screen: its title, and what belongs to all of it. */
export function Header({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <header className="header">
      <h1>{title}</h1>
      {children}
    </header>
  );
}
