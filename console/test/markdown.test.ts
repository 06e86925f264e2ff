import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import { expect, test } from "vitest";
import { gfm } from "../src/parts/gfm";

const draw = (text: string) =>
  renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [gfm], children: text }));

test("tables, task lists, strikethrough, addresses and footnotes of GitHub become elements", () => {
  expect(draw("| a | b |\n|---|---|\n| 1 | 2 |")).toContain("<td>2</td>");
  expect(draw("- [x] done")).toContain('<input type="checkbox" disabled="" checked=""/>');
  expect(draw("~~old~~")).toBe("<p><del>old</del></p>");
  expect(draw("see https://example.com/a")).toContain('<a href="https://example.com/a">');
  expect(draw("one[^1]\n\n[^1]: a note")).toContain("a note");
});
