import { memo } from "react";
import type { ReasoningItem } from "../../log/fold";
import { useWords } from "../../words";

export const Reasoning = memo(function Reasoning({ item }: { item: ReasoningItem }) {
  const t = useWords();
  if (item.text === "") return null;
  return (
    <details className="reasoning">
      <summary>{t("chat.reasoning")}</summary>
      <p className="plain">{item.text}</p>
    </details>
  );
});
