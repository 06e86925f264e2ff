/** The texts of the page in the user's language. `{name}` in a text is replaced by a value. */
import { loadChunk } from "../loadChunk";
import { useSettings, type Language } from "../settings";
import en from "./en.json";

export type Word = keyof typeof en;
export type Values = Record<string, string | number>;
export type Translate = (word: Word, values?: Values) => string;

const WORDS: Partial<Record<Language, Record<Word, string>>> = { en };

/** English is in the first load; the texts of another language are a file of their own. */
export async function loadWords(language: Language): Promise<void> {
  if (language === "zh-CN") WORDS[language] ??= (await loadChunk(() => import("./zh.json"))).default;
}

export function useWords(): Translate {
  return translator(useSettings().language);
}

/** English if the language was not loaded. */
export function translator(language: Language): Translate {
  return (word, values) => fill((WORDS[language] ?? en)[word], values);
}

/** The text with its values. */
export const fill = (text: string, values: Values = {}) =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
