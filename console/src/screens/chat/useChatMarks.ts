import { useEffect, useRef } from "react";
import type { Conversation } from "../../log/fold";
import { mark } from "../../marks";

/** Marks when the first text of a run, and when all that was stored of a thread, is on the page. */
export function useChatMarks(conversation: Conversation, isCaughtUp: boolean): void {
  const marked = useRef("");
  const run = conversation.run;
  const last = conversation.items.at(-1);
  const hasText = last?.kind === "message" && last.role === "assistant" && last.text !== "";
  useEffect(() => {
    if (!run || !hasText || marked.current === run.id) return;
    marked.current = run.id;
    mark("first-piece");
  }, [run, hasText]);
  useEffect(() => {
    if (isCaughtUp) mark("run-drawn");
  }, [isCaughtUp]);
}
