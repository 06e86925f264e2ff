import type { FailureItem } from "../../log/fold";
import { useWords } from "../../words";

export function Failure({ item }: { item: FailureItem }) {
  const t = useWords();
  return (
    <div className="failure" role="alert">
      <strong>{t("chat.failed")}</strong> <code>{item.code}</code>
      <p>{item.message}</p>
    </div>
  );
}
