/** Responses that come line by line, each a JSON value. */
import { ApiError, send } from "./client";

/** Hands over each line as it comes. Empty lines only keep the connection open. */
export async function readLines<T>(
  path: string,
  body: unknown,
  onLine: (line: T) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(path, { method: "POST", body, signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const piece = await reader?.read();
    if (!piece || piece.done) break;
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") onLine(JSON.parse(line) as T);
  }
  if (rest !== "") throw new ApiError(0, "cut_off", rest);
}
