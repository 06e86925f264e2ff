import en from "../../words/memories/en.json";
import zh from "../../words/memories/zh.json";
import { makeWords } from "../../words/screen";

export const useMemoryWords = makeWords({ en, "zh-CN": zh });
