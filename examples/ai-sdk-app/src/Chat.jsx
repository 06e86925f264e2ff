import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useEffect, useRef, useState } from "react";
import { api, stopRun } from "./chats.js";
import { Message } from "./Message.jsx";

const tools = {
  setTheme: {
    description: "Show the page in light or dark colors.",
    parameters: { type: "object", properties: { theme: { enum: ["light", "dark"] } }, required: ["theme"] },
  },
};
const transport = new DefaultChatTransport({ api, body: { tools } });

export function Chat({ id, messages: stored }) {
  const [text, setText] = useState("");
  const { messages, sendMessage, regenerate, stop, status, error, addToolOutput, addToolApprovalResponse } = useChat({
    id,
    transport,
    messages: stored,
    resume: true, // an answer that was being written when the page was reloaded continues
    sendAutomaticallyWhen: (options) =>
      lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
    onToolCall: ({ toolCall }) => {
      if (toolCall.toolName !== "setTheme") return; // the server runs its own tools
      document.documentElement.style.colorScheme = toolCall.input.theme;
      void addToolOutput({ tool: "setTheme", toolCallId: toolCall.toolCallId, output: `The page is ${toolCall.input.theme} now.` });
    },
  });
  const end = useRef(null);
  useEffect(() => { end.current?.scrollIntoView({ block: "end" }); }, [messages]);
  const isBusy = status === "submitted" || status === "streaming";

  function submit(event) {
    event.preventDefault();
    if (!text.trim() || isBusy) return;
    void sendMessage({ text });
    setText("");
  }

  function stopAll() {
    void stop(); // closes the connection
    void stopRun(id); // ends the run
  }

  return (
    <>
      <ol className="messages">
        {messages.map((message) => (
          <Message key={message.id} message={message} answer={addToolApprovalResponse} />
        ))}
        <li ref={end} className="end" />
      </ol>
      {error && <p className="problem" role="alert">{error.message}</p>}
      <form onSubmit={submit}>
        <input aria-label="Message" placeholder="Which notes do I have?" value={text} onChange={(event) => setText(event.target.value)} />
        {isBusy ? (
          <button type="button" onClick={stopAll}>Stop</button>
        ) : (
          <button type="submit">Send</button>
        )}
        <button type="button" disabled={isBusy || messages.at(-1)?.role !== "assistant"} onClick={() => void regenerate()}>
          Again
        </button>
      </form>
    </>
  );
}
