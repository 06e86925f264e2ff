// A browser with one page, for what a person does there; it reaches this machine alone.
import { createRequire } from "node:module";
import path from "node:path";

export const ANSWER = '[data-testid="copilot-assistant-message"]';
export const PATIENCE = 60_000;
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** The page, and what it complains of. `folder` has playwright-core among its node_modules. */
export async function open(folder, viewport) {
  const { chromium } = createRequire(path.join(folder, "package.json"))("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { browser, page, complaints };
}

export function text(words) {
  return words.replace(/\s+/g, " ").trim();
}
