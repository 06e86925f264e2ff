import en from "../../words/rerun/en.json";
import zh from "../../words/rerun/zh.json";
import { makeWords } from "../../words/screen";

export const useRerunWords = makeWords({ en, "zh-CN": zh });
