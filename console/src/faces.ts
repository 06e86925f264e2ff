/** Names of the clients behind the server's faces, as their makers write them. */
const NAMES: Record<string, string> = {
  ai_sdk: "Vercel AI SDK",
  copilotkit: "CopilotKit",
  mcp: "MCP",
  openai: "OpenAI API",
  openbb: "OpenBB Workspace",
};

/** `ownName` is the name of this console. */
export function nameFace(face: string, ownName: string): string {
  return face === "operator" ? ownName : (NAMES[face] ?? face);
}
