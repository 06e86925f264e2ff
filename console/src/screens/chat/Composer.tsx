import { useRef, useState, type ClipboardEvent, type KeyboardEvent, type ReactNode } from "react";
import { ApiError, UNREACHABLE } from "../../api/client";
import type { FilePart } from "../../api/types";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";
import { MAX_ATTACHED_MB, readFiles, sizeOf } from "./attachments";
import { useDraft } from "./drafts";

interface Props {
  /** The thread whose draft it holds; null for a new one. */
  draftOf: string | null;
  isRunning: boolean;
  isSending: boolean;
  error: Error | null;
  onSend: (text: string, parts: FilePart[]) => Promise<unknown>;
  onStop: () => void;
  onType?: () => void;
  /** What stands beside the buttons. */
  children: ReactNode;
}

export function Composer({ draftOf, isRunning, isSending, error, onSend, onStop, onType, children }: Props) {
  const t = useWords();
  const [draft, setDraft] = useDraft(draftOf);
  const [isTooLarge, setIsTooLarge] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const canSend = !isSending && !isRunning && (draft.text.trim() !== "" || draft.files.length > 0);

  async function attach(files: Iterable<File>) {
    const added = [...draft.files, ...(await readFiles(files))];
    const fits = sizeOf(added) <= MAX_ATTACHED_MB * 2 ** 20;
    setIsTooLarge(!fits);
    if (fits) setDraft({ files: added });
  }

  function send() {
    if (!canSend) return;
    onSend(draft.text.trim(), draft.files).then(
      () => setDraft({ text: "", files: [] }),
      () => {}, // the draft stays, and the error is shown
    );
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  function onPaste(event: ClipboardEvent) {
    if (event.clipboardData.files.length > 0) void attach(event.clipboardData.files);
  }

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {draft.files.length > 0 && (
        <ul className="attachments">
          {draft.files.map((file, index) => (
            <li key={index} className="chip">
              <Icon name="file" />
              {file.name}
              <button
                type="button"
                className="remove"
                aria-label={t("chat.remove", { name: file.name })}
                onClick={() => setDraft({ files: draft.files.filter((one) => one !== file) })}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {isTooLarge && (
        <p className="problem" role="alert">
          {t("chat.tooLarge", { size: MAX_ATTACHED_MB })}
        </p>
      )}
      {draft.hasLostFiles && (
        <p className="problem" role="status">
          {t("chat.lostFiles")}
        </p>
      )}
      {error && (
        <p className="problem" role="alert">
          {error instanceof ApiError && error.code === UNREACHABLE ? t("error.unreachable") : error.message}
        </p>
      )}
      <textarea
        dir="auto"
        aria-label={t("chat.message")}
        placeholder={t("chat.placeholder")}
        rows={1}
        value={draft.text}
        onChange={(event) => {
          setDraft({ text: event.target.value });
          onType?.();
        }}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="composer-bar">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void attach(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <button
          type="button"
          className="icon-button"
          aria-label={t("chat.attach")}
          onClick={() => picker.current?.click()}
        >
          <Icon name="attach" />
        </button>
        {children}
        {isRunning ? (
          <button type="button" className="icon-button stop" aria-label={t("chat.stop")} onClick={onStop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" className="icon-button send" aria-label={t("chat.send")} disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
