/**
 * What `hast-util-to-jsx-runtime` asks of `property-information`, for the properties that Markdown has. The package lists
 * every attribute of HTML and SVG, which makes the first load 4 KB larger.
 */
export const html = { space: "html" };
export const svg = { space: "svg" };
export const hastToReact: Record<string, string> = {};

interface Info {
  space?: string;
  property: string;
  attribute: string;
}

export function find(_: unknown, name: string): Info {
  if (/^aria[A-Z]/.test(name)) return { property: name, attribute: `aria-${name.slice(4).toLowerCase()}` };
  if (/^data[A-Z]/.test(name)) {
    return { property: name, attribute: name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) };
  }
  return { space: "html", property: name, attribute: name.toLowerCase() };
}
