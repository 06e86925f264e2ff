import { expect, test, vi } from "vitest";
import type { Me, ThreadLine } from "../src/api/types";
import { shortcutOf } from "../src/parts/palette/shortcut";
import { findTargets } from "../src/parts/palette/targets";
import { translator } from "../src/words";

const NONE = { use: ["default"], watch: null, read: null, act: null, author: null };
const user = (rights: Partial<Me["rights"]> = {}) => ({ rights: { ...NONE, ...rights } }) as Me;
const find = (words: string, me = user(), threads: ThreadLine[] = []) =>
  findTargets(words, { me, agents: ["default", "night"], threads }, translator("en")).map(({ kind, to }) => [kind, to]);

test("screens are found by their names, those of operators only by operators", () => {
  expect(find("settin")).toEqual([["screen", "/settings"]]);
  expect(find("metrics")).toEqual([]);
  expect(find("metrics", user({ watch: ["*"] }))).toEqual([["screen", "/metrics"]]);
});

test("agents, runs by their id, and threads that the server found are listed", () => {
  expect(find("nigh", user({ watch: ["*"] }))).toEqual([["agent", "/runs?owner=*&agent=night"]]);
  expect(find("run_ab12")).toEqual([["run", "/runs?run=run_ab12"]]);
  expect(find("zzz", user(), [{ id: "a/b", name: null } as ThreadLine])).toEqual([["thread", "/threads/a%2Fb"]]);
});

test("the keys of the palette do not take letters from a field, or open it over a dialog", () => {
  class Field {
    closest = () => this;
  }
  vi.stubGlobal("Element", Field);
  vi.stubGlobal("document", { querySelector: () => null });
  const key = { key: "k", ctrlKey: false, metaKey: false, altKey: false, isComposing: false, target: null };
  const field = new Field() as unknown as EventTarget;

  expect(shortcutOf({ ...key, ctrlKey: true, target: field })).toBe("find");
  expect(shortcutOf({ ...key, metaKey: true })).toBe("find");
  expect([shortcutOf(key), shortcutOf({ ...key, key: "?", target: field })]).toEqual([null, null]);
  expect(shortcutOf({ ...key, key: "?" })).toBe("keys");

  vi.stubGlobal("document", { querySelector: () => ({}) });
  expect(shortcutOf({ ...key, ctrlKey: true })).toBe(null);
});
