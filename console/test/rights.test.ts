import { expect, test } from "vitest";
import { homeOf } from "../src/api/rights";
import type { Me } from "../src/api/types";

const NONE = { use: null, watch: null, read: null, act: null, author: null };
const home = (rights: Partial<Me["rights"]>) => homeOf({ rights: { ...NONE, ...rights } } as Me);

test("an operator without an agent of its own begins where there is something to do", () => {
  expect(home({ use: ["default"], watch: ["*"] })).toBe("/chat");
  expect(home({ watch: ["*"] })).toBe("/health");
  expect(home({ watch: ["slow"] })).toBe("/runs?owner=*");
  expect(home({ act: ["*"] })).toBe("/approvals");
  expect(home({})).toBe("/chat");
});
