/** The versions of a question that was edited or asked again, and the conversation as it was with an earlier one. */
import type { Forks, Item } from "./fold";

export interface Version {
  /** From 1. The last one is the current one. */
  number: number;
  count: number;
  /** The runs that asked the versions before and after; null where there is none. */
  before: string | null;
  after: string | null;
}

/** The items with what the run has said, if later runs have replaced it; else the current items. */
export function itemsWith(items: readonly Item[], forks: Forks, run: string | undefined): readonly Item[] {
  if (run === undefined || forks.size === 0 || items.some((item) => item.run === run)) return items;
  return findBranch(items, forks, run, new Set()) ?? items;
}

function findBranch(items: readonly Item[], forks: Forks, run: string, seen: Set<string>): readonly Item[] | null {
  for (const [index, { id }] of items.entries()) {
    const versions = seen.has(id) ? undefined : forks.get(id);
    if (!versions) continue;
    for (const version of versions) {
      const branch = [...items.slice(0, index), ...version];
      if (version.some((item) => item.run === run)) return branch;
      const found = findBranch(branch, forks, run, new Set([...seen, id]));
      if (found) return found;
    }
  }
  return null;
}

/** By the first item of each version. */
export function versionsOf(items: readonly Item[], forks: Forks): Map<Item, Version> {
  const known = new Map<Item, Version>();
  const all = [...items, ...[...forks.values()].flat(2)];
  for (const [id, earlier] of forks) {
    const replaced = new Set(earlier.map((version) => version[0]));
    const current = all.find((item) => item.id === id && !replaced.has(item));
    const firsts = [...earlier.flatMap((version) => version.slice(0, 1)), ...(current ? [current] : [])];
    firsts.forEach((first, index) =>
      known.set(first, {
        number: index + 1,
        count: firsts.length,
        before: firsts[index - 1]?.run ?? null,
        after: firsts[index + 1]?.run ?? null,
      }),
    );
  }
  return known;
}
