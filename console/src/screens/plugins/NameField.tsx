import { useId } from "react";
import { NAME } from "./newFile";
import { useWorkbenchWords } from "./words";

/** The name of a new flow or plugin, with the rule for it. */
export function NameField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  const t = useWorkbenchWords();
  const id = useId();
  return (
    <div>
      <label className="label" htmlFor={id}>
        {t("new.name")}
      </label>
      <input
        id={id}
        className="field"
        autoComplete="off"
        spellCheck={false}
        maxLength={63}
        aria-invalid={value !== "" && !NAME.test(value)}
        aria-describedby={`${id}-rule`}
        value={value}
        onChange={(event) => onChange(event.target.value.trim())}
      />
      <p className="hint muted" id={`${id}-rule`}>
        {t("new.nameRule")}
      </p>
    </div>
  );
}

interface ButtonsProps {
  isReady: boolean;
  error: Error | null;
  onClose: () => void;
}

export function DialogButtons({ isReady, error, onClose }: ButtonsProps) {
  const t = useWorkbenchWords();
  return (
    <>
      {error && (
        <p className="problem plain" role="alert">
          {error.message}
        </p>
      )}
      <div className="dialog-buttons">
        <button type="button" className="button" onClick={onClose}>
          {t("new.cancel")}
        </button>
        <button type="submit" className="button primary" disabled={!isReady}>
          {t("new.create")}
        </button>
      </div>
    </>
  );
}
