/** The editor: CodeMirror with our colors. It lives in a shadow root, where its styles need no exception of the policy. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const COLORS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--success)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.typeName], color: "var(--model)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.meta, tags.punctuation, tags.separator], color: "var(--muted)" },
]);

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  // CodeMirror sets .cm-focused some milliseconds after the focus; :focus-within holds at once.
  "&.cm-focused, &:focus-within": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontVariantLigatures: "none", lineHeight: "1.6" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-tooltip": {
    border: "1px solid var(--border-strong)",
    borderRadius: "8px",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    fontFamily: "var(--font)",
  },
  ".cm-diagnostic": { padding: "6px 10px" },
  ".cm-diagnosticAction": {
    padding: "1px 8px",
    borderRadius: "6px",
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
});

interface Setup {
  path: string;
  label: string;
  isReadOnly: boolean;
  onChange: (text: string) => void;
  onSave: () => void;
}

/** The tab key leaves the editor; Ctrl-] and Ctrl-[ indent. */
export function extensionsOf({ path, label, isReadOnly, onChange, onSave }: Setup): Extension[] {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    lintGutter(),
    EditorView.lineWrapping,
    syntaxHighlighting(COLORS),
    THEME,
    languageOf(path),
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ "aria-label": label, ...(isReadOnly ? { "aria-readonly": "true" } : {}) }),
    keymap.of([{ key: "Mod-s", run: () => (onSave(), true) }, ...defaultKeymap, ...historyKeymap, ...lintKeymap]),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
  ];
}

/** Chromium styles a text that is typed over a selection like the old one, inline, which the policy refuses. */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { readOnly, selection } = view.state;
  if (event.inputType !== "insertText" || event.data === null || selection.main.empty || readOnly) return false;
  event.preventDefault();
  view.dispatch({ ...view.state.replaceSelection(event.data), userEvent: "input.type", scrollIntoView: true });
  return true;
}

function languageOf(path: string): Extension {
  if (/\.ya?ml$/i.test(path)) return yaml();
  return /\.json$/i.test(path) ? json() : [];
}
