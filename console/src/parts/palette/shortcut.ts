type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "isComposing" | "target">;

/** `⌘K` or `Ctrl+K` finds something, `?` lists the keys; none of them while a dialog is open, `?` not in a field. */
export function shortcutOf({ key, ctrlKey, metaKey, altKey, isComposing, target }: Key): "find" | "keys" | null {
  if (altKey || isComposing || document.querySelector("dialog[open]") !== null) return null;
  if ((ctrlKey || metaKey) && key.toLowerCase() === "k") return "find";
  const isTyping = target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
  return key === "?" && !ctrlKey && !metaKey && !isTyping ? "keys" : null;
}
