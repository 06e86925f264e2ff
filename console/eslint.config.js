import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/** What the console's content security policy and its use over plain http rule out. */
const FORBIDDEN = [
  ["JSXAttribute[name.name='dangerouslySetInnerHTML']", "Render elements; the page takes no HTML."],
  ["MemberExpression[property.name=/^(innerHTML|outerHTML)$/]", "Render elements; the page takes no HTML."],
  ["MemberExpression[property.name='randomUUID']", "crypto.randomUUID does not exist over plain http."],
  ["Literal[value=/^(https?:)?\\x2f\\x2f/]", "Use an address relative to the page."],
].map(([selector, message]) => ({ selector, message }));

export default tseslint.config(
  { ignores: ["node_modules"] },
  ...tseslint.configs.strict,
  jsxA11y.flatConfigs.recommended,
  reactHooks.configs.flat["recommended-latest"],
  {
    rules: {
      "no-eval": "error",
      "no-restricted-syntax": ["error", ...FORBIDDEN],
      "no-restricted-globals": [
        "error",
        ...["localStorage", "sessionStorage"].map((name) => ({ name, message: "Use settings.ts." })),
      ],
      "no-restricted-properties": [
        "error",
        { object: "window", property: "localStorage", message: "Use settings.ts." },
      ],
    },
  },
  { files: ["src/settings.ts"], rules: { "no-restricted-globals": "off" } },
  { files: ["test/**", "vite.config.ts"], rules: { "no-restricted-syntax": "off" } },
);
