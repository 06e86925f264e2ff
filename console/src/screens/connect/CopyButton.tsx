import { useEffect, useState } from "react";
import { copyText } from "../../copy";
import { showToast } from "../../parts/toasts";
import { useConnectWords } from "./words";

const SHOWN_MS = 2000;

export function CopyButton({ text }: { text: string }) {
  const t = useConnectWords();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);

  async function copy() {
    if (await copyText(text)) setCopied(true);
    else showToast(t("connect.notCopied"), { isProblem: true });
  }

  return (
    <button type="button" className="button" onClick={() => void copy()}>
      {t(isCopied ? "connect.copied" : "connect.copy")}
    </button>
  );
}
