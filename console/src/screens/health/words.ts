import en from "../../words/health/en.json";
import zh from "../../words/health/zh.json";
import { makeWords, type TranslateOwn } from "../../words/screen";

export type HealthWord = keyof typeof en;
export type TranslateHealth = TranslateOwn<HealthWord>;

export const useHealthWords = makeWords<HealthWord>({ en, "zh-CN": zh });

type IdOf<Name> = Name extends `health.check.${infer Id}` ? Id : never;

/** Whether there is a title for this check of the server; else the server's own is shown. */
export const isKnownCheck = (id: string): id is IdOf<HealthWord> => `health.check.${id}` in en;

type FixOf<Name> = Name extends `failures.fix.${infer Code}` ? Code : never;

/** Whether there is advice for runs that failed with this code. */
export const isKnownFix = (code: string): code is FixOf<HealthWord> => `failures.fix.${code}` in en;
