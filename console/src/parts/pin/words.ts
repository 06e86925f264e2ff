import en from "../../words/cases/en.json";
import zh from "../../words/cases/zh.json";
import { makeWords, type TranslateOwn } from "../../words/screen";

export type CasesWord = keyof typeof en;
export type TranslateCases = TranslateOwn<CasesWord>;

export const useCasesWords = makeWords<CasesWord>({ en, "zh-CN": zh });
