/** Builds each `zh.json` as the texts alone: they have the keys of the `en.json` beside it, in its order. It saves 14 KB. */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Plugin } from "vite";

const TRANSLATION = /\/words\/(?:\w+\/)?zh\.json$/;

const read = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;

export function shareWordKeys(): Plugin {
  return {
    name: "share-word-keys",
    apply: "build",
    enforce: "pre",
    load: {
      filter: { id: TRANSLATION },
      handler(path) {
        this.addWatchFile(path);
        const [en, zh] = [read(path.replace(/zh\.json$/, "en.json")), read(path)];
        if (!isDeepStrictEqual(Object.keys(en), Object.keys(zh)))
          this.error(`${path} must have the keys of en.json, in its order`);
        const code = `import en from "./en.json";
const texts = ${JSON.stringify(Object.values(zh))};
export default Object.fromEntries(Object.keys(en).map((key, index) => [key, texts[index]]));`;
        return { code, moduleType: "js", moduleSideEffects: false };
      },
    },
  };
}
