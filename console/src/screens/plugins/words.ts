import en from "../../words/workbench/en.json";
import zh from "../../words/workbench/zh.json";
import { makeWords } from "../../words/screen";

export const useWorkbenchWords = makeWords({ en, "zh-CN": zh });
