/** What this browser remembers: language and theme, and in each tab the messages that were typed and not sent. */
import { useSyncExternalStore } from "react";

export type Language = "en" | "zh-CN";
export type Theme = "system" | "light" | "dark";

export interface Settings {
  language: Language;
  theme: Theme;
}

const KEY = "rightseat.settings";
const listeners = new Set<() => void>();
let settings = read();

export function useSettings(): Settings {
  return useSyncExternalStore(subscribe, () => settings);
}

export const currentSettings = (): Settings => settings;

export function changeSettings(change: Partial<Settings>): void {
  settings = { ...settings, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // a browser that stores nothing keeps them until the page is closed
  }
  applySettings();
  for (const listener of listeners) listener();
}

/** `lang` and `data-theme` of the document; without a choice, style sheets follow the system. */
export function applySettings(): void {
  const root = document.documentElement;
  root.lang = settings.language;
  if (settings.theme === "system") delete root.dataset.theme;
  else root.dataset.theme = settings.theme;
}

function read(): Settings {
  const language = globalThis.navigator?.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  const initial: Settings = { language, theme: "system" };
  try {
    return { ...initial, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return initial;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What was stored in this tab, or undefined. It is gone when the tab is closed. */
export function readInTab(key: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether the value was stored; undefined deletes it. Browsers store about 5 MB for a page. */
export function storeInTab(key: string, value: unknown): boolean {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function clearTab(): void {
  try {
    sessionStorage.clear();
  } catch {
    // a browser that stores nothing has nothing to forget
  }
}
