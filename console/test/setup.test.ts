import { expect, test } from "vitest";
import { describeChoice, type ModelChoice } from "../src/screens/health/choices";
import type { TranslateHealth } from "../src/screens/health/words";

const t: TranslateHealth = (word, values) => `${word} ${Object.values(values ?? {}).join(" ")}`.trim();
const choice = (more: Partial<ModelChoice>): ModelChoice => ({
  ...{ id: "openai", provider: "openai", name: "OpenAI", models: [] },
  ...more,
});

test("a local server is named with its address and the models that it has", () => {
  const ollama = { id: "ollama", name: "Ollama", base_url: "http://127.0.0.1:11434/v1", models: ["a", "b"] };

  expect(describeChoice(t, choice({ ...ollama, is_found: true }))).toEqual({
    title: "setup.server Ollama",
    detail: "setup.server.found a, b 127.0.0.1:11434",
  });
  expect(describeChoice(t, choice(ollama)).detail).toBe("setup.server.absent 127.0.0.1:11434");
});

test("a provider is named with the variable of its key", () => {
  const openai = choice({ variable: "OPENAI_API_KEY" });

  expect(describeChoice(t, openai)).toEqual({ title: "OpenAI", detail: "setup.provider.unset OPENAI_API_KEY" });
  expect(describeChoice(t, { ...openai, is_found: true }).detail).toBe("setup.provider.set OPENAI_API_KEY");
});
