import { useWords } from "../words";
import { useToasts } from "./toasts";

export function Toasts() {
  const t = useWords();
  const toasts = useToasts();
  return (
    <div className="toasts" role="status">
      {toasts.map((toast) => (
        <div key={toast.id} className="toast" data-problem={toast.isProblem || undefined}>
          <span>{toast.text}</span>
          {toast.undo && (
            <button type="button" className="button" onClick={toast.undo}>
              {t("toast.undo")}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
