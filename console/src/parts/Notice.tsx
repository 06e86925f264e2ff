import { useWords } from "../words";

interface Props {
  text: string;
  /** The name of the button; without it, "Try again". */
  button?: string;
  onRetry?: () => void;
}

/** A page that holds one sentence. */
export function Notice({ text, button, onRetry }: Props) {
  const t = useWords();
  return (
    <div className="notice" role="alert">
      <p>{text}</p>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {button ?? t("error.retry")}
        </button>
      )}
    </div>
  );
}
