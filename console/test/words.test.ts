import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => readFileSync(join("src", name), "utf8"))
  .join("\n");

const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

/** Those of the first load, and those of each screen that has a folder of its own. */
const folders = [
  "",
  ...readdirSync("src/words", { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : [])),
];
const read = (folder: string, language: string) =>
  JSON.parse(readFileSync(join("src/words", folder, `${language}.json`), "utf8")) as Record<string, string>;

test.each(folders)("both languages have the same words, with the same placeholders: words/%s", (folder) => {
  const [en, zh] = [read(folder, "en"), read(folder, "zh")];

  expect(Object.keys(zh)).toEqual(Object.keys(en));
  for (const [key, text] of Object.entries(en)) expect(placeholders(zh[key] ?? ""), key).toEqual(placeholders(text));
});

test.each(folders)("every word is used: words/%s", (folder) => {
  const prefixes = [...sources.matchAll(/t\(`([\w.]+\.)\$\{/g)].map((match) => match[1] ?? "");
  const unused = Object.keys(read(folder, "en")).filter(
    (key) => !sources.includes(`"${key}"`) && !prefixes.some((prefix) => key.startsWith(prefix)),
  );

  expect(unused).toEqual([]);
});

test("no screen has a word of the first load", () => {
  const known = new Set(Object.keys(read("", "en")));
  const repeated = folders
    .slice(1)
    .flatMap((folder) => Object.keys(read(folder, "en")).filter((key) => known.has(key)));

  expect(repeated).toEqual([]);
});

test("the code has no text of its own between elements", () => {
  const found = [...sources.matchAll(/>\s*([A-Z][a-z]+ [a-z ]+)\s*</g)].map((match) => match[1]);

  expect(found).toEqual([]);
});
