/** The kinds of calls that have a color of their own. */
export type CallKind = "model" | "tool" | "step";

const MODEL_CALLS = new Set(["llm"]);
const PLAIN_CALLS = new Set(["choice", "none", ""]);

export function kindOf(call: string): CallKind {
  if (MODEL_CALLS.has(call)) return "model";
  return PLAIN_CALLS.has(call) ? "step" : "tool";
}
