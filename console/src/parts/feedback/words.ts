import en from "../../words/feedback/en.json";
import zh from "../../words/feedback/zh.json";
import { makeWords } from "../../words/screen";

export const useFeedbackWords = makeWords({ en, "zh-CN": zh });
