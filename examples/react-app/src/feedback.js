// The thumbs below an answer: the chat calls these, and the server stores one vote for each answer.
export function thumbs(runtime, onProblem) {
  async function vote(message, value) {
    const response = await fetch(`${runtime}/feedback`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: message.id, value }),
    });
    if (!response.ok) throw new Error((await response.json()).message);
  }
  const handler = (value) => (message) => vote(message, value).catch((error) => onProblem(error.message));
  return { onThumbsUp: handler("up"), onThumbsDown: handler("down") };
}
