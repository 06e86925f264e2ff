import en from "../../words/usage/en.json";
import zh from "../../words/usage/zh.json";
import { makeWords } from "../../words/screen";

export const useUsageWords = makeWords({ en, "zh-CN": zh });
