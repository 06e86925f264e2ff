import { copyText } from "../copy";
import { useWords } from "../words";
import { Icon } from "./Icon";
import { showToast } from "./toasts";

/** A small button that copies a text; `name` says what. */
export function CopyIcon({ text, name }: { text: string; name: string }) {
  const t = useWords();

  async function copy() {
    if (await copyText(text)) showToast(t("copy.done"));
    else showToast(t("copy.failed"), { isProblem: true });
  }

  return (
    <button type="button" className="icon-button" aria-label={name} title={name} onClick={() => void copy()}>
      <Icon name="copy" />
    </button>
  );
}
