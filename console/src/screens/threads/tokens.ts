import type { Tokens } from "../../api/types";

/** Tokens in and out together; null if neither is known. */
export function sumOf(tokens: Tokens | null | undefined): number | null {
  if (tokens == null || (tokens.in === null && tokens.out === null)) return null;
  return (tokens.in ?? 0) + (tokens.out ?? 0);
}
