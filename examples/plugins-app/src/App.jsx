// The page: CopilotKit's own chat, and beside it what the flow does, step by step.
import { CopilotChat, CopilotKitProvider } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { Flow } from "./Flow.jsx";
import { explain } from "./problem.js";
import { Questions } from "./Questions.jsx";

const RUNTIME = import.meta.env.VITE_RUNTIME_URL ?? "http://127.0.0.1:8000/copilotkit";
const LABELS = { chatInputPlaceholder: "Ask for the weather, a chart, a scan or a converted file", chatDisclaimerText: "" };

export function App() {
  const [problem, setProblem] = useState("");
  const [thread] = useState(lastThread);
  return (
    <CopilotKitProvider
      runtimeUrl={RUNTIME}
      showDevConsole={false}
      enableInspector={false}
      onError={({ error }) => setProblem(explain(error, RUNTIME))}
    >
      <div className="page">
        <main>
          <Questions />
          <CopilotChat threadId={thread} labels={LABELS} attachments={{ enabled: true, accept: ".csv,.json,.md" }} />
          {problem && <p className="problem" role="alert">{problem} <button onClick={() => setProblem("")}>Dismiss</button></p>}
        </main>
        <Flow />
      </div>
    </CopilotKitProvider>
  );
}

// The server keeps the conversation; the browser only remembers which one it was.
function lastThread() {
  const thread = localStorage.getItem("plugins-thread") ?? crypto.randomUUID();
  localStorage.setItem("plugins-thread", thread);
  return thread;
}
