import { useWords } from "../../words";
import { Icon } from "../Icon";
import "./asks.css";

/** Marks a flow or a step that asks a person before it changes something. */
export function Asks() {
  const t = useWords();
  return (
    <span className="asks">
      <Icon name="shield" />
      {t("flow.asks")}
    </span>
  );
}
