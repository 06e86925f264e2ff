import { useFormat, type Format } from "../../format";
import { MAX_SHOWN_BYTES, type Reply } from "./reply";
import { useConnectWords, type TranslateConnect } from "./words";

/** The bytes of a response, as they arrived. */
export function ReplyView({ reply }: { reply: Reply }) {
  const t = useConnectWords();
  const format = useFormat();
  return (
    <div className="reply" data-testid="reply" data-state={reply.state}>
      <p className="reply-status" role="status">
        <strong>{t("connect.reply")}</strong>
        {reply.status && <code data-ok={reply.isOk}>{reply.status}</code>}
        <span className="muted">{describe(reply, t, format)}</span>
      </p>
      {reply.text !== "" && (
        // It scrolls, so it can have the focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <pre tabIndex={0} aria-label={t("connect.reply")} role="region">
          <code>{reply.text}</code>
        </pre>
      )}
      {reply.isShortened && (
        <p className="muted">{t("connect.shortened", { size: showSize(MAX_SHOWN_BYTES, t, format) })}</p>
      )}
    </div>
  );
}

function describe(reply: Reply, t: TranslateConnect, format: Format): string {
  const size = showSize(reply.bytes, t, format);
  switch (reply.state) {
    case "waiting":
      return t("connect.waiting");
    case "receiving":
      return t("connect.receiving", { size });
    case "ended":
      return t("connect.received", { size, time: format.duration(reply.milliseconds) });
    case "stopped":
      return t("connect.stopped", { size });
    case "failed":
      return t("connect.failed", { message: reply.problem });
  }
}

const showSize = (bytes: number, t: TranslateConnect, format: Format) =>
  bytes < 1024
    ? t("connect.bytes", { count: format.number(bytes) })
    : t("connect.kilobytes", { count: format.number(Math.round(bytes / 1024)) });
