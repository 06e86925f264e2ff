import en from "../../words/chart/en.json";
import zh from "../../words/chart/zh.json";
import { makeWords } from "../../words/screen";

export const useChartWords = makeWords({ en, "zh-CN": zh });
