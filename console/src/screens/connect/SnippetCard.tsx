import { useEffect, useRef, useState } from "react";
import { SERVER_URL, type FaceLine, type Snippet } from "./api";
import { CopyButton } from "./CopyButton";
import { fillRequest, sendRequest, WAITING, type Reply } from "./reply";
import { ReplyView } from "./ReplyView";
import { useConnectWords } from "./words";

interface Props {
  face: FaceLine;
  snippet: Snippet;
  typedKey: string;
  /** Called when the request needs a key and none was typed. */
  onKeyWanted: () => void;
}

/** One way to connect: its code, and the response to its request. */
export function SnippetCard({ face, snippet, typedKey, onKeyWanted }: Props) {
  const t = useConnectWords();
  const [reply, setReply] = useState<Reply | null>(null);
  const sending = useRef<AbortController | null>(null);
  useEffect(() => () => sending.current?.abort(), []);
  const isRunning = reply !== null && (reply.state === "waiting" || reply.state === "receiving");

  function send() {
    if (!snippet.request) return;
    if (face.requires_key && typedKey === "") return onKeyWanted();
    const controller = (sending.current = new AbortController());
    setReply(WAITING);
    const request = fillRequest(snippet.request, typedKey, `${Date.now()}-${Math.floor(Math.random() * 1e6)}`);
    void sendRequest(SERVER_URL + request.path, request, controller.signal, (next) => {
      if (sending.current === controller) setReply(next);
    });
  }

  return (
    <section className="snippet-card" aria-label={snippet.title}>
      <div className="snippet-head">
        <h2>{snippet.title}</h2>
        <CopyButton text={snippet.code} />
        {snippet.request && (
          <button type="button" className="button" onClick={() => (isRunning ? sending.current?.abort() : send())}>
            {t(isRunning ? "connect.stop" : "connect.try")}
          </button>
        )}
      </div>
      <div className="snippet" data-testid="snippet" data-face={face.face} data-language={snippet.language}>
        {/* It scrolls, so it can have the focus. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre tabIndex={0} role="region" aria-label={snippet.title}>
          <code>{snippet.code}</code>
        </pre>
      </div>
      {reply && <ReplyView reply={reply} />}
    </section>
  );
}
