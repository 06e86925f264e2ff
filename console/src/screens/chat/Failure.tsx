import type { FailureItem } from "../../log/fold";
import { useWords } from "../../words";

export function Failure({ item, onRetry }: { item: FailureItem; onRetry?: (() => void) | undefined }) {
  const t = useWords();
  return (
    <div className="failure" role="alert">
      <strong>{t("chat.failed")}</strong> <code>{item.code}</code>
      <p dir="auto">{item.message}</p>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {t("error.retry")}
        </button>
      )}
    </div>
  );
}
