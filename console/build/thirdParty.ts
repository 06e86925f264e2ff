/** Writes THIRD_PARTY.txt: name, version, licence and licence text of every package in the bundle. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Packages of which only files are used, so that the bundle does not name them. */
const FONTS = ["@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"];
const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

export function writeThirdParty(): Plugin {
  return {
    name: "write-third-party",
    apply: "build",
    generateBundle() {
      const folders = new Set(FONTS.map((name) => join(process.cwd(), "node_modules", name)));
      for (const id of this.getModuleIds()) {
        const folder = PACKAGE.exec(id.replace("\0", ""))?.[1];
        if (folder && existsSync(join(folder, "package.json"))) folders.add(folder);
      }
      const source = joinSameTexts([...folders].map(describe).sort((one, other) => (one.name < other.name ? -1 : 1)))
        .map(({ names, licence }) => `${names.join("\n")}\n\n${licence}\n`)
        .join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: "THIRD_PARTY.txt", source });
    },
  };
}

/** Packages of one author have the same text, which then stands there once. */
function joinSameTexts(packages: { name: string; licence: string }[]): { names: string[]; licence: string }[] {
  const texts = new Map<string, string[]>();
  for (const { name, licence } of packages) texts.set(licence, [...(texts.get(licence) ?? []), name]);
  return [...texts].map(([licence, names]) => ({ names, licence }));
}

function describe(folder: string): { name: string; licence: string } {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const file = readdirSync(folder)
    .sort()
    .find((name) => /^licen[cs]e/i.test(name));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : "(the package has no licence file)";
  return {
    name: `${String(about.name)} ${String(about.version)}`,
    licence: `Licence: ${String(about.license)}\n\n${text}`,
  };
}
