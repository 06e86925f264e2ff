// The address of the chat, and what useChat itself has no request for: loading and stopping.
export const api = import.meta.env.VITE_CHAT_URL ?? "http://127.0.0.1:8000/api/chat";

const KEY = "rightseat-notes-chat";

/** The id of the chat survives a reload, so that the page finds its messages again. */
export function currentChat() {
  const id = localStorage.getItem(KEY);
  return id ? { id, isNew: false } : newChat();
}

export function newChat() {
  const id = crypto.randomUUID();
  localStorage.setItem(KEY, id);
  return { id, isNew: true };
}

/** The stored messages; none of a chat that has not begun. */
export async function loadMessages(id) {
  const response = await fetch(`${api}/${encodeURIComponent(id)}`);
  if (response.status === 404) return [];
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).messages;
}

export function stopRun(id) {
  return fetch(`${api}/${encodeURIComponent(id)}/stop`, { method: "POST" });
}
