import en from "../../words/signin/en.json";
import zh from "../../words/signin/zh.json";
import { makeWords } from "../../words/screen";

const useProblemWords = makeWords<keyof typeof en>({ en, "zh-CN": zh });

/** Why the last sign-in with the identity provider failed: `problem` is from the address, so it may be anything. */
export default function Problem({ problem, name }: { problem: string; name: string }) {
  const t = useProblemWords();
  const isKnown = Object.hasOwn(en, `problem.${problem}`);
  return (
    <p className="problem" role="alert">
      {t(`problem.${isKnown ? (problem as "denied") : "invalid_response"}`, { name })}
    </p>
  );
}
