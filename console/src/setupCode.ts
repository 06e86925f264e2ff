/** The code in the address that `rightseat serve` prints at a first start. This tab keeps it, for the screen Health. */
import { readInTab, storeInTab } from "./settings";

const KEY = "rightseat.setup";

export function keepSetupCode(): void {
  const code = new URLSearchParams(location.hash.split("?")[1]).get("setup");
  if (code) storeInTab(KEY, code);
}

export function readSetupCode(): string {
  const code = readInTab(KEY);
  return typeof code === "string" ? code : "";
}
