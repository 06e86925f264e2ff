import { useState } from "react";

/**
 * The thread, or the id that a new one will have. The page chooses it, so that it follows the thread before its first
 * question: no piece of the answer waits for another connection.
 */
export function useThreadId(thread: string | null): string {
  const [next, setNext] = useState(newThreadId);
  if (thread === next) setNext(newThreadId()); // it has its first question, so another one is next
  return thread ?? next;
}

/** Random; `crypto.randomUUID` exists only on https. */
function newThreadId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `thread-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
