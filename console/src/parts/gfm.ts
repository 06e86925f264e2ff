import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm as gfmSyntax } from "micromark-extension-gfm";

interface ParserData {
  micromarkExtensions?: unknown[];
  fromMarkdownExtensions?: unknown[];
}

/** Tables, task lists and the like for react-markdown. `remark-gfm` also has a Markdown writer, of 24 KB. */
export function gfm(this: { data(): object }): void {
  const data: ParserData = this.data();
  (data.micromarkExtensions ??= []).push(gfmSyntax());
  (data.fromMarkdownExtensions ??= []).push(gfmFromMarkdown());
}
