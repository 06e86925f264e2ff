import { expect, test } from "vitest";
import { describeCause } from "../src/screens/threads/causes";
import en from "../src/words/lists/en.json";

const t = (word: keyof typeof en) => en[word];

test("a failed run in a list says why, and an unknown code stands for itself", () => {
  expect(describeCause("model_unreachable", t)).toBe("The model did not respond");
  expect(describeCause("from_a_newer_server", t)).toBe("from_a_newer_server");
});
