// The text that the chat shows for an error of CopilotKit or of the server.
export function explain(error, runtime) {
  if (/failed to fetch|networkerror|load failed/i.test(error.message)) {
    return `Cannot reach the server at ${runtime}. Is rightseat running?`;
  }
  if (/pending interrupt/.test(error.message)) return "Please answer the open question first, or stop it.";
  return error.message;
}
