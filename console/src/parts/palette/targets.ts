/** Where the palette can lead: screens, agents, threads and runs. */
import type { Me, ThreadLine } from "../../api/types";
import type { Translate, Word } from "../../words";

export interface Target {
  kind: "screen" | "thread" | "agent" | "run";
  name: string;
  to: string;
}

const SCREENS: readonly { word: Word; to: string; right?: "watch" | "read" }[] = [
  { word: "nav.chat", to: "/chat" },
  { word: "threads.title", to: "/threads" },
  { word: "runs.title", to: "/runs" },
  { word: "nav.approvals", to: "/approvals" },
  { word: "nav.flows", to: "/flows" },
  { word: "nav.plugins", to: "/plugins" },
  { word: "nav.cases", to: "/cases", right: "read" },
  { word: "nav.memories", to: "/memories" },
  { word: "nav.connect", to: "/connect" },
  { word: "nav.health", to: "/health", right: "watch" },
  { word: "nav.metrics", to: "/metrics", right: "watch" },
  { word: "nav.usage", to: "/usage" },
  { word: "nav.access", to: "/access", right: "watch" },
  { word: "nav.settings", to: "/settings" },
];
const RUN_ID = /^run_[\w-]+$/;

interface Known {
  me: Me;
  agents: readonly string[];
  /** The threads that the server found for the words. */
  threads: readonly ThreadLine[];
}

/** Screens and agents by their names, threads as the server found them, and the run that the words name. */
export function findTargets(words: string, { me, agents, threads }: Known, t: Translate): Target[] {
  const wanted = words.trim().toLowerCase();
  const has = (name: string) => name.toLowerCase().includes(wanted);
  const owner = me.rights.watch ? "owner=*&" : "";
  const screens = SCREENS.filter(({ right }) => !right || me.rights[right] !== null);
  return [
    ...(RUN_ID.test(words.trim())
      ? [{ kind: "run" as const, name: words.trim(), to: `/runs?${owner}run=${encodeURIComponent(words.trim())}` }]
      : []),
    ...screens.map(({ word, to }) => ({ kind: "screen" as const, name: t(word), to })).filter(({ name }) => has(name)),
    ...(wanted === "" ? [] : agents.filter(has)).map((name) => ({
      kind: "agent" as const,
      name,
      to: `/runs?${owner}agent=${encodeURIComponent(name)}`,
    })),
    ...threads.map(({ id, name }) => ({
      kind: "thread" as const,
      name: name || t("threads.untitled"),
      to: `/threads/${encodeURIComponent(id)}`,
    })),
  ];
}
