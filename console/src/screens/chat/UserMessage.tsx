import { useState, type KeyboardEvent } from "react";
import type { TextItem } from "../../log/fold";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";
import { MessageBubble } from "./MessageBubble";

interface Props {
  item: TextItem;
  /** When its run began. */
  at: number | null;
  /** Asks the message anew, perhaps with another text, in place of all that follows it. */
  onReplace: (message: string, text?: string) => Promise<unknown>;
}

/** A message of the user that can be edited and asked again. */
export function UserMessage({ item, at, onReplace }: Props) {
  const t = useWords();
  const [text, setText] = useState<string | null>(null);
  if (text === null) {
    return (
      <>
        <MessageBubble item={item} at={at} />
        <div className="message-actions">
          <button
            type="button"
            className="icon-button"
            aria-label={t("chat.edit")}
            title={t("chat.edit")}
            onClick={() => setText(item.text)}
          >
            <Icon name="edit" />
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label={t("chat.regenerate")}
            title={t("chat.regenerate")}
            onClick={() => void onReplace(item.id).catch(() => {})} // the composer shows the error
          >
            <Icon name="again" />
          </button>
        </div>
      </>
    );
  }

  const edited = text.trim();
  function send() {
    if (edited === "") return;
    onReplace(item.id, edited).then(
      () => setText(null),
      () => {}, // the text stays, and the composer shows the error
    );
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Escape") setText(null);
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <div className="message-edit">
      <textarea
        dir="auto"
        className="field"
        aria-label={t("chat.edit")}
        aria-describedby={`edit-${item.id}`}
        ref={(field) => field?.focus()}
        rows={3}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <p id={`edit-${item.id}`} className="muted">
        {t("chat.editHint")}
      </p>
      <button type="button" className="button" onClick={() => setText(null)}>
        {t("chat.cancel")}
      </button>
      <button type="button" className="button primary" disabled={edited === ""} onClick={send}>
        {t("chat.regenerate")}
      </button>
    </div>
  );
}
