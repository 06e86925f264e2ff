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
        .map(({ notices, licence }) => `${notices.join("\n\n")}\n\n${licence}\n`)
        .join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: "THIRD_PARTY.txt", source });
    },
  };
}

interface Described {
  name: string;
  /** The copyright notice, which differs where the licence does not. */
  copyright: string;
  licence: string;
}

/** The text of a licence stands there once, below the names and the copyright notices of all its packages. */
export function joinSameTexts(packages: Described[]): { notices: string[]; licence: string }[] {
  const found = new Map<string, { licence: string; names: Map<string, string[]> }>();
  for (const { name, copyright, licence } of packages) {
    const key = licence.replace(/\s+/g, " ");
    const same = found.get(key) ?? { licence, names: new Map<string, string[]>() };
    same.names.set(copyright, [...(same.names.get(copyright) ?? []), name]);
    found.set(key, same);
  }
  return [...found.values()].map(({ licence, names }) => ({
    licence,
    notices: [...names].map(([copyright, of]) => [...of, copyright].filter(Boolean).join("\n")),
  }));
}

function describe(folder: string): Described {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const file = readdirSync(folder)
    .sort()
    .find((name) => /^licen[cs]e/i.test(name));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : "(the package has no licence file)";
  const { copyright, terms } = splitLicence(text);
  return {
    name: `${String(about.name)} ${String(about.version)}`,
    copyright,
    licence: `Licence: ${String(about.license)}\n\n${terms}`,
  };
}

/** The title of a licence is left out; its copyright notice is whatever else comes before the first paragraph of terms. */
export function splitLicence(text: string): { copyright: string; terms: string } {
  const paragraphs = text.split(/\r?\n\s*\n/).map((one) => one.trim());
  const first = paragraphs.findIndex((one) => !isTitle(one) && !/^copyright\b/i.test(one));
  const copyright = paragraphs.slice(0, first).filter((one) => !isTitle(one));
  return { copyright: copyright.join("\n"), terms: paragraphs.slice(first).join("\n\n") };
}

const isTitle = (paragraph: string) => /^[(#\s]*(the )?(mit|isc|bsd)( licen[cs]e)?( \(mit\))?\)?$/i.test(paragraph);
