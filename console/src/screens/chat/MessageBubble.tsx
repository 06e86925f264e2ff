import { memo } from "react";
import { useFormat } from "../../format";
import type { Attachment, TextItem } from "../../log/fold";
import { Icon } from "../../parts/Icon";
import { Markdown } from "../../parts/Markdown";
import { useNow } from "../../useNow";
import { useWords } from "../../words";

interface Props {
  item: TextItem;
  /** When it was sent, in milliseconds of the clock. */
  at?: number | null;
}

export const MessageBubble = memo(function MessageBubble({ item, at = null }: Props) {
  const t = useWords();
  const isUser = item.role === "user";
  if (!isUser && item.text === "") return null; // a response that only calls tools
  return (
    <>
      <article
        className="message"
        data-testid="message"
        data-role={item.role}
        data-state={item.state}
        aria-label={t(isUser ? "chat.you" : "chat.assistant")}
      >
        {isUser ? (
          <p className="plain" dir="auto">
            {item.text}
          </p>
        ) : (
          <Markdown text={item.text} />
        )}
        {at !== null && <MessageTime at={at} />}
        {item.attachments.map((attachment, index) => (
          <AttachmentView key={index} attachment={attachment} />
        ))}
      </article>
      {item.state === "cut" && <p className="cut">{t("chat.cut")}</p>}
    </>
  );
});

function MessageTime({ at }: { at: number }) {
  const format = useFormat();
  const iso = new Date(at).toISOString();
  return (
    <time className="message-time" dateTime={iso} title={format.full(iso)}>
      {format.when(iso, useNow())}
    </time>
  );
}

/** SVG may hold scripts and links, so it is shown as a file. */
function AttachmentView({ attachment: { name, mediaType, data } }: { attachment: Attachment }) {
  const t = useWords();
  const isPicture = /^image\/(png|jpeg|gif|webp)$/.test(mediaType) && data !== "";
  if (isPicture) return <img className="attached" src={`data:${mediaType};base64,${data}`} alt={name} />;
  return (
    <span className="chip">
      <Icon name="file" />
      {name || t("chat.file")}
    </span>
  );
}
