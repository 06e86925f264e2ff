import { useEffect, useState } from "react";

const TYPING_MS = 120;

/** The text of a search box. It becomes the search when typing pauses, and follows a search that changes elsewhere. */
export function useTyped(value: string, onChange: (value: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState({ text: value, of: value });
  if (typed.of !== value) setTyped({ text: value, of: value });

  useEffect(() => {
    if (typed.text === typed.of) return;
    const timer = setTimeout(() => {
      setTyped({ text: typed.text, of: typed.text.trim() });
      onChange(typed.text.trim());
    }, TYPING_MS);
    return () => clearTimeout(timer);
  });
  return [typed.text, (text) => setTyped((before) => ({ ...before, text }))];
}
