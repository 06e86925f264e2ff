import en from "../../words/metrics/en.json";
import zh from "../../words/metrics/zh.json";
import { makeWords } from "../../words/screen";

export const useMetricsWords = makeWords({ en, "zh-CN": zh });
