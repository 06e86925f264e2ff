/** The texts of a screen that is loaded later. They are loaded with it, so that the first load stays small. */
import { useSettings, type Language } from "../settings";
import { fill, type Values } from ".";

export type TranslateOwn<Own extends string> = (word: Own, values?: Values) => string;

/** A hook like `useWords`, for the texts of `words/SCREEN/en.json` and `zh.json`. */
export function makeWords<Own extends string>(texts: Record<Language, Record<Own, string>>) {
  return function useScreenWords(): TranslateOwn<Own> {
    const known = texts[useSettings().language];
    return (word, values) => fill(known[word], values);
  };
}
