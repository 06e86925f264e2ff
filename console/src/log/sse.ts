/** Parses server-sent events out of text that comes in any pieces. */

export interface Frame {
  id: string;
  event: string;
  data: string;
}

export class SseParser {
  #rest = "";

  push(text: string): Frame[] {
    const blocks = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.map(parseBlock).filter((frame) => frame.data !== "");
  }
}

function parseBlock(block: string): Frame {
  const frame: Frame = { id: "", event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (value === undefined) continue;
    if (name === "id") frame.id = value;
    else if (name === "event") frame.event = value;
    else frame.data = frame.data ? `${frame.data}\n${value}` : value;
  }
  return frame;
}
