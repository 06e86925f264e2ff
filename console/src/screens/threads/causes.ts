/** Why a run failed, in the user's language: lists have the code of an error, its message is in the run. */
import type en from "../../words/lists/en.json";
import type { TranslateOwn } from "../../words/screen";

const CAUSES = [
  "model_unreachable",
  "model_busy",
  "model_timeout",
  "model_loading",
  "model_refused",
  "model_refused_key",
  "model_error",
  "context_too_long",
  "response_too_long",
  "max_turns_exceeded",
  "too_many_tool_calls",
  "agent_unreachable",
  "agent_timeout",
  "agent_refused",
  "agent_error",
  "guard_denied",
  "guard_failed",
  "budget_exceeded",
  "rate_limit_exceeded",
  "storage_full",
  "log_data_lost",
  "internal_error",
] as const;
type Cause = (typeof CAUSES)[number];

const isCause = (code: string): code is Cause => CAUSES.some((known) => known === code);

/** The code itself if it is of a newer server, or of another agent. */
export const describeCause = (code: string, t: TranslateOwn<keyof typeof en>): string =>
  isCause(code) ? t(`cause.${code}`) : code;
