import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";

interface Props {
  to: string;
  /** What is added to the address. */
  query?: string;
  /** The beginning of other addresses for which this link is the current one. */
  alsoFor?: string;
  icon: ReactNode;
  className?: string;
  children: ReactNode;
}

export function NavLink({ to, query = "", alsoFor, icon, className = "", children }: Props) {
  const [location] = useLocation();
  const isCurrent = location === to || (alsoFor !== undefined && location.startsWith(alsoFor));
  return (
    <Link to={to + query} className={`nav-link ${className}`} aria-current={isCurrent ? "page" : undefined}>
      {icon}
      {children}
    </Link>
  );
}
