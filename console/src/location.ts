/**
 * The address of a screen: a path and its query, both in the fragment (`#/threads?q=word`).
 *
 * wouter's own hook for fragments puts the query before the `#`, where it would get into the logs of servers.
 */
import { useMemo, useSyncExternalStore } from "react";

const read = () => `/${location.hash.replace(/^#?\/?/, "")}`;
const readPath = () => read().split("?", 1)[0] ?? "/";
const readQuery = () => read().slice(readPath().length + 1);

export function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  const address = `#${to.startsWith("/") ? to : `/${to}`}`;
  if (address === location.hash) return;
  if (replace) history.replaceState(history.state, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event("hashchange"));
}

/** For wouter's `Router`. */
export const useFragment = (): [string, typeof navigate] => [useSyncExternalStore(subscribe, readPath), navigate];
useFragment.hrefs = (href: string) => `#${href}`;

/** The path with its query. */
export const useAddress = () => useSyncExternalStore(subscribe, read);

/** The query of the address, and a function that changes some of it; an empty value takes a name out. */
export function useFilters<Name extends string>(): [
  Partial<Record<Name, string>>,
  (change: Partial<Record<Name, string>>) => void,
] {
  const query = useSyncExternalStore(subscribe, readQuery);
  const filters = useMemo(
    () => Object.fromEntries(new URLSearchParams(query)) as Partial<Record<Name, string>>,
    [query],
  );

  function change(changed: Partial<Record<Name, string>>) {
    const kept = Object.entries<string | undefined>({ ...filters, ...changed }).filter(([, value]) => value);
    const next = new URLSearchParams(kept as [string, string][]).toString();
    navigate(readPath() + (next && `?${next}`), { replace: true });
  }
  return [filters, change];
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  addEventListener("popstate", listener);
  return () => {
    removeEventListener("hashchange", listener);
    removeEventListener("popstate", listener);
  };
}
