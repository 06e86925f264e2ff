import en from "../../words/access/en.json";
import zh from "../../words/access/zh.json";
import { makeWords } from "../../words/screen";

export const useAccessWords = makeWords<keyof typeof en>({ en, "zh-CN": zh });
