/** The first steps: choices of models, the file of a choice, writing it, and waiting for the server. */
import { call, getMe } from "../../api/client";
import type * as Api from "../../api/schema";
import { readSetupCode } from "../../setupCode";

export interface Chosen {
  choice: string;
  model: string;
  /** Of another server only, like `variable`, which names the variable of its key. */
  base_url?: string;
  variable?: string;
}

export type Proposal = Api.ProposedFile;

const POLL_MS = 300;
const MAX_WAIT_MS = 60_000;

export const getChoices = () => call<Api.SetupChoices>("setup", { setupCode: readSetupCode() });

export const checkChoice = (chosen: Chosen, isTried: boolean) =>
  call<Proposal>("setup/check", { method: "POST", body: { ...chosen, try: isTried, code: readSetupCode() } });

export const writeChoice = (chosen: Chosen) =>
  call<Api.WrittenFile>("setup/write", { method: "POST", body: { ...chosen, code: readSetupCode() } });

/** Resolves once the server answers with its new configuration; false if it does not within a minute. */
export async function waitForRestart(): Promise<boolean> {
  for (const end = Date.now() + MAX_WAIT_MS; Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const isBack = await getMe().then(
      (me) => me !== null && !me.setup,
      () => false,
    );
    if (isBack) return true;
  }
  return false;
}
