import { copyText } from "../copy";
import { useWords } from "../words";
import { Icon } from "./Icon";
import { showToast } from "./toasts";
import "./copyable.css";

/** A text that is pasted elsewhere, with a button that copies it. */
export function Copyable({ title, text, testId }: { title: string; text: string; testId?: string }) {
  const t = useWords();

  async function copy() {
    if (await copyText(text)) showToast(t("copy.done"));
    else showToast(t("copy.failed"), { isProblem: true });
  }

  return (
    <div className="copyable">
      <div className="copyable-head">
        <span className="muted">{title}</span>
        <button type="button" className="button" onClick={() => void copy()}>
          <Icon name="copy" />
          {t("copy.copy")}
        </button>
      </div>
      <pre data-testid={testId}>
        <code>{text}</code>
      </pre>
    </div>
  );
}
