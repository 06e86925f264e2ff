import en from "../../words/connect/en.json";
import zh from "../../words/connect/zh.json";
import { makeWords, type TranslateOwn } from "../../words/screen";

export const useConnectWords = makeWords({ en, "zh-CN": zh });
export type TranslateConnect = TranslateOwn<keyof typeof en>;
