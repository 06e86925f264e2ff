import en from "../../words/lists/en.json";
import zh from "../../words/lists/zh.json";
import { makeWords } from "../../words/screen";

export const useListWords = makeWords({ en, "zh-CN": zh });
