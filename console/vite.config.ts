import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { checkBudgets } from "./build/budgets.ts";
import { writeThirdParty } from "./build/thirdParty.ts";
import { shareWordKeys } from "./build/wordKeys.ts";

const own = (file: string) => new URL(`build/${file}`, import.meta.url).pathname;

/** Packages of which the built page needs a small part. */
const REPLACED = [
  { find: /^react\/jsx-runtime$/, replacement: own("jsxRuntime.js") },
  { find: /^property-information$/, replacement: own("propertyInformation.ts") },
  { find: /^@ungap\/structured-clone$/, replacement: own("structuredClone.js") },
];

export default defineConfig(({ command }) => ({
  base: "./", // the console works below any path
  plugins: [react(), shareWordKeys(), writeThirdParty(), checkBudgets()],
  resolve: { alias: command === "build" ? REPLACED : [] },
  build: {
    outDir: "../src/rightseat/console",
    emptyOutDir: true,
    target: ["chrome123", "firefox125", "safari17.5"], // light-dark() and AbortSignal.any
    assetsInlineLimit: 0, // the policy allows no data: fonts
    modulePreload: { polyfill: false },
    // Whatever the first screen needs is one file, also the modules that other screens share with it.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "initial", tags: ["$initial"] }] } } },
  },
  worker: { format: "es" },
  server: { proxy: { "/operator": "http://127.0.0.1:8000", "/health": "http://127.0.0.1:8000" } },
  test: { include: ["test/**/*.test.ts"] },
}));
