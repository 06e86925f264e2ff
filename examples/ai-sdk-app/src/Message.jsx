/** One message: its texts, and a card for each tool call. */
export function Message({ message, answer }) {
  return (
    <li className={message.role}>
      {message.parts.map((part, number) => {
        if (part.type === "text") return <p key={number}>{part.text}</p>;
        if (part.type.startsWith("tool-")) return <ToolCall key={part.toolCallId} part={part} answer={answer} />;
        return null;
      })}
    </li>
  );
}

const STATES = {
  "input-streaming": "…",
  "input-available": "running",
  "approval-requested": "May I?",
  "approval-responded": "running",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "not done",
};

function ToolCall({ part, answer }) {
  return (
    <div className="call" data-state={part.state}>
      <code>{part.type.slice("tool-".length)}</code> {part.input?.title} <span>{STATES[part.state]}</span>
      {part.state === "approval-requested" && (
        <>
          <button type="button" onClick={() => answer({ id: part.approval.id, approved: true })}>Delete</button>
          <button type="button" onClick={() => answer({ id: part.approval.id, approved: false })}>Keep</button>
        </>
      )}
    </div>
  );
}
