import { useEffect, useState } from "react";
import { Chat } from "./Chat.jsx";
import { currentChat, loadMessages, newChat } from "./chats.js";

/** Loads the stored messages before the chat is shown. */
export function App() {
  const [{ id, isNew }, setChat] = useState(currentChat);
  const [loaded, setLoaded] = useState();
  const [problem, setProblem] = useState();

  useEffect(() => {
    let isCurrent = true;
    (isNew ? Promise.resolve([]) : loadMessages(id)).then(
      (messages) => isCurrent && setLoaded({ id, messages }),
      (error) => isCurrent && setProblem(`The server does not answer: ${error.message}`),
    );
    return () => { isCurrent = false; };
  }, [id, isNew]);

  return (
    <main>
      <header>
        <h1>Notes</h1>
        <button type="button" onClick={() => setChat(newChat())}>New chat</button>
      </header>
      {problem && <p className="problem" role="alert">{problem}</p>}
      {loaded?.id === id && <Chat key={id} id={id} messages={loaded.messages} />}
    </main>
  );
}
