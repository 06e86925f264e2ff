import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { Problem } from "../../api/plugins";
import { extensionsOf } from "./codeMirror";
import { rangeOf } from "./replace";
import { useWorkbenchWords } from "./words";

interface Props {
  path: string;
  text: string;
  isReadOnly: boolean;
  /** Those of this file. */
  problems: Problem[];
  onChange: (text: string) => void;
  onReplace: (problem: Problem) => void;
  onSave: () => void;
}

export function Editor({ path, text, isReadOnly, problems, onChange, onReplace, onSave }: Props) {
  const t = useWorkbenchWords();
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<EditorView | null>(null);
  const label = t("editor.name");
  const replaceLabel = t("problems.replace");
  const change = useEffectEvent(onChange);
  const save = useEffectEvent(onSave);
  const replace = useEffectEvent(onReplace);
  const initialText = useEffectEvent(() => text);

  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const extensions = extensionsOf({ path, label, isReadOnly, onChange: change, onSave: save });
    const created = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: initialText(), extensions }),
    });
    setView(created);
    return () => created.destroy();
  }, [path, label, isReadOnly]);

  useEffect(() => {
    if (!view || view.state.doc.toString() === text) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, [view, text]);

  useEffect(() => {
    if (!view) return;
    const shown = view.state.doc.toString();
    const diagnostics = problems.map((problem): Diagnostic => {
      const actions = problem.suggestion ? [{ name: replaceLabel, apply: () => replace(problem) }] : [];
      const severity = problem.severity === "information" ? "info" : problem.severity;
      return { ...rangeOf(shown, problem), severity, message: `${problem.code} ${problem.message}`, actions };
    });
    view.dispatch(setDiagnostics(view.state, diagnostics));
  }, [view, problems, replaceLabel]);

  return <div className="editor" ref={host} />;
}
