/** The state that the agent shares with the pages of its clients. */
import type { Json } from "../../log/events";
import { useWords } from "../../words";
import { Code } from "../Code";

export function ThreadState({ state }: { state: Json | undefined }) {
  const t = useWords();
  if (state == null) return <p className="panel-empty muted">{t("timeline.noState")}</p>;
  return (
    <div className="thread-state">
      <Code title={t("timeline.stateHint")} text={JSON.stringify(state)} />
    </div>
  );
}
