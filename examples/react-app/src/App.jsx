// The page: CopilotKit around it, the board in it, the chat beside it.
import { CopilotKitProvider, CopilotSidebar } from "@copilotkit/react-core/v2";
import { useMemo, useState } from "react";
import { Board } from "./Board.jsx";
import { Copilot } from "./Copilot.jsx";
import { thumbs } from "./feedback.js";
import { explain } from "./problem.js";

const RUNTIME = import.meta.env.VITE_RUNTIME_URL ?? "http://127.0.0.1:8000/copilotkit";
const LABELS = {
  modalHeaderTitle: "Board copilot",
  chatInputPlaceholder: "Ask, or ask for a change",
  chatDisclaimerText: "",
};

export function App() {
  const [thread, setThread] = useState(lastThread);
  const [marked, setMarked] = useState([]);
  const [problem, setProblem] = useState("");

  const messageView = useMemo(() => ({ assistantMessage: thumbs(RUNTIME, setProblem) }), []);

  function startOver() {
    setMarked([]);
    setThread(newThread());
  }

  return (
    <CopilotKitProvider
      runtimeUrl={RUNTIME}
      showDevConsole={false}
      enableInspector={false}
      onError={({ error }) => setProblem(explain(error, RUNTIME))}
    >
      <Copilot onMark={setMarked} />
      <Board marked={marked} onUnmark={() => setMarked([])} onStartOver={startOver} />
      <CopilotSidebar threadId={thread} labels={LABELS} messageView={messageView} width={420} />
      {problem && (
        <p className="problem" role="alert">
          {problem} <button onClick={() => setProblem("")}>Dismiss</button>
        </p>
      )}
    </CopilotKitProvider>
  );
}

// The server keeps the conversation; the browser only remembers which one it was.
function lastThread() {
  return localStorage.getItem("thread") ?? newThread();
}

function newThread() {
  const thread = crypto.randomUUID();
  localStorage.setItem("thread", thread);
  return thread;
}
