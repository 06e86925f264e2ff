import { expect, test } from "vitest";
import { SseParser } from "../src/log/sse";

const STREAM = ': keep-alive\n\nid: r1/1-1\nevent: entry\ndata: {"a":\ndata: 1}\n\nevent: bye\r\ndata: {}\r\n\r\n';

test("frames are the same however the text is cut", () => {
  const whole = new SseParser().push(STREAM);
  const parser = new SseParser();
  const pieces = [...STREAM.replaceAll("\r\n", "\n")].flatMap((letter) => parser.push(letter));

  expect(whole).toEqual([
    { id: "r1/1-1", event: "entry", data: '{"a":\n1}' },
    { id: "", event: "bye", data: "{}" },
  ]);
  expect(pieces).toEqual(whole);
});
