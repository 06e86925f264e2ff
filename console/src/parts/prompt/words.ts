import en from "../../words/prompt/en.json";
import zh from "../../words/prompt/zh.json";
import { makeWords } from "../../words/screen";

export const usePromptWords = makeWords<keyof typeof en>({ en, "zh-CN": zh });
