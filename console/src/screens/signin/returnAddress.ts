/** The screen that was shown before the browser left for the identity provider. The server is not told of it. */
import { navigate } from "../../location";
import { readInTab, storeInTab } from "../../settings";

const KEY = "rightseat.signIn.from";
/** The address of the sign-in screen, where the server reports problems. */
export const SIGN_IN = "/sign-in";

export function leaveForProvider(url: string): void {
  const from = location.hash.slice(1);
  if (!from.startsWith(SIGN_IN)) storeInTab(KEY, from);
  location.assign(url);
}

/** Shows that screen again, once: after a sign-in the browser opens the page without the address of a screen. */
export function comeBack(): void {
  const from = readInTab(KEY);
  if (location.hash !== "" || typeof from !== "string") return;
  storeInTab(KEY, undefined);
  if (from !== "") navigate(from, { replace: true });
}
