import { find, hastToReact, html } from "property-information";
import { expect, test } from "vitest";
import * as own from "../build/propertyInformation";

const OF_MARKDOWN = [
  ...["href", "title", "src", "alt", "className", "align", "start", "type", "checked", "disabled", "id", "style"],
  ...["dataFootnoteRef", "dataFootnoteBackref", "dataFootnotes", "ariaLabel", "ariaDescribedBy"],
];

/** As `hast-util-to-jsx-runtime` names it. */
const nameOf = ({
  space,
  property,
  attribute,
}: {
  space?: string | null | undefined;
  property: string;
  attribute: string;
}) => (space ? ((hastToReact as Record<string, string>)[property] ?? property) : attribute);

test("the properties of Markdown have the names that the package gives them", () => {
  for (const name of OF_MARKDOWN) expect(nameOf(own.find(own.html, name))).toBe(nameOf(find(html, name)));
});

test("no property of Markdown is a list with commas", () => {
  expect(OF_MARKDOWN.filter((name) => find(html, name).commaSeparated)).toEqual([]);
});
