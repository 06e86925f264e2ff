import { useWorkbenchWords } from "./words";

interface Props {
  theirs: string;
  mine: string;
  onTakeTheirs: () => void;
  onKeepMine: () => void;
}

/** The file was changed since it was read: both versions, and the choice between them. */
export function Conflict({ theirs, mine, onTakeTheirs, onKeepMine }: Props) {
  const t = useWorkbenchWords();
  return (
    <section className="conflict" role="alert">
      <p>{t("editor.meanwhile")}</p>
      <div className="conflict-versions">
        <figure>
          <figcaption>{t("editor.theirs")}</figcaption>
          <pre>{theirs}</pre>
          <button type="button" className="button small" onClick={onTakeTheirs}>
            {t("editor.takeTheirs")}
          </button>
        </figure>
        <figure>
          <figcaption>{t("editor.mine")}</figcaption>
          <pre>{mine}</pre>
          <button type="button" className="button small" onClick={onKeepMine}>
            {t("editor.keepMine")}
          </button>
        </figure>
      </div>
    </section>
  );
}
