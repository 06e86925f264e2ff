/** Fails the build when the built files are larger than `budgets.json` allows. */
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

type Output = Rollup.OutputAsset | Rollup.OutputChunk;
type Bundle = Record<string, Output>;
interface Budgets {
  firstLoadKb: number;
  /** What a screen that is loaded later adds to the first load. */
  lazyScreenKb: number;
  /** The same for those that draw the graph of a flow. */
  flowGraphKb: number;
  /** The same for the plugin workbench, which has an editor. */
  workbenchKb: number;
  fontsKb: number;
  totalKb: number;
}

const FLOW_GRAPHS = new Set(["FlowScreen", "ThreadFlows", "DraftGraph"]);
const WORKBENCH = "Workbench";

export function checkBudgets(): Plugin {
  return {
    name: "check-budgets",
    apply: "build",
    writeBundle(_, bundle) {
      if (!bundle["index.html"]) return; // the worker's own bundle
      const budgets = JSON.parse(readFileSync("budgets.json", "utf8")) as Budgets;
      const files = Object.values(bundle);
      const chunks = files.filter((file) => file.type === "chunk");
      const entries = chunks.filter((chunk) => chunk.isEntry).map((chunk) => chunk.fileName);
      const workers = Object.keys(bundle).filter((name) => /worker-.*\.js$/.test(name));
      const first = new Set([...workers, ...entries.flatMap((name) => [...loadedWith(bundle, name)])]);
      report("first load, JS and CSS, gzip", weigh(bundle, first), budgets.firstLoadKb);
      for (const { fileName, name } of chunks.filter((chunk) => chunk.isDynamicEntry)) {
        const later = new Set([...loadedWith(bundle, fileName)].filter((one) => !first.has(one)));
        const { workbenchKb, flowGraphKb, lazyScreenKb } = budgets;
        const limit = name === WORKBENCH ? workbenchKb : FLOW_GRAPHS.has(name) ? flowGraphKb : lazyScreenKb;
        report(`screen ${name}, gzip`, weigh(bundle, later), limit);
      }
      report("fonts", sum(files.filter(isFont), size), budgets.fontsKb);
      report("all files", sum(files, size), budgets.totalKb);
    },
  };
}

/** A chunk, the chunks that it imports, and the style sheets of all of them. */
function loadedWith(bundle: Bundle, name: string, found = new Set<string>()): Set<string> {
  const chunk = bundle[name];
  if (found.has(name) || chunk?.type !== "chunk") return found;
  found.add(name);
  for (const sheet of chunk.viteMetadata?.importedCss ?? []) found.add(sheet);
  for (const imported of chunk.imports) loadedWith(bundle, imported, found);
  return found;
}

const isFont = (file: Output) => file.fileName.endsWith(".woff2");
const content = (file: Output) => Buffer.from(file.type === "chunk" ? file.code : file.source);
const size = (file: Output) => content(file).length;
const compressed = (file: Output) => gzipSync(content(file), { level: 9 }).length;
const sum = (files: Output[], measure: (file: Output) => number) =>
  files.reduce((total, file) => total + measure(file), 0);
const weigh = (bundle: Bundle, names: Set<string>) =>
  sum(
    [...names].flatMap((name) => bundle[name] ?? []),
    compressed,
  );

function report(what: string, bytes: number, budgetKb: number): void {
  const line = `${what}: ${(bytes / 1024).toFixed(1)} KB of ${budgetKb} KB`;
  if (bytes > budgetKb * 1024) throw new Error(`The build exceeds budgets.json. ${line}`);
  console.log(line);
}
