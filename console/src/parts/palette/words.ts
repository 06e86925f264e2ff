import en from "../../words/palette/en.json";
import zh from "../../words/palette/zh.json";
import { makeWords } from "../../words/screen";

export const usePaletteWords = makeWords<keyof typeof en>({ en, "zh-CN": zh });
