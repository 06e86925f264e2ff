import { memo } from "react";
import type { CallItem } from "../../log/fold";
import { Code } from "../../parts/Code";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";

/** A tool call; its arguments and its result can be opened. */
export const Call = memo(function Call({ item }: { item: CallItem }) {
  const t = useWords();
  return (
    <>
      <details className="call" data-testid="call" data-name={item.name} data-state={item.state}>
        <summary>
          <span className="chip">
            <Icon name="tool" />
            {item.name}
          </span>
          <span className="state">{t(`call.${item.state}`)}</span>
        </summary>
        <Code title={t("call.input")} text={item.arguments} />
        {item.result !== null && <Code title={t("call.output")} text={item.result} />}
      </details>
      {item.isForPage && <p className="hint">{t("call.onPage")}</p>}
    </>
  );
});
