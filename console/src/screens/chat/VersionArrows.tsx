import type { Version } from "../../log/branches";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";

interface Props {
  version: Version | undefined;
  onChoose: (run: string) => void;
}

/** Goes through the versions of a question. */
export function VersionArrows({ version, onChoose }: Props) {
  const t = useWords();
  if (!version || version.count < 2) return null;
  const { number, count } = version;
  return (
    <div className="versions" role="group" aria-label={t("chat.versions")} data-testid="versions" data-value={number}>
      <Arrow name="left" label={t("chat.versionBefore")} run={version.before} onChoose={onChoose} />
      <span aria-hidden="true">
        {number}/{count}
      </span>
      <span className="visually-hidden" role="status">
        {t("chat.version", { number, count })}
      </span>
      <Arrow name="right" label={t("chat.versionAfter")} run={version.after} onChoose={onChoose} />
    </div>
  );
}

interface ArrowProps {
  name: "left" | "right";
  label: string;
  run: string | null;
  onChoose: (run: string) => void;
}

/** It keeps the focus when there is no further version. */
function Arrow({ name, label, run, onChoose }: ArrowProps) {
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={label}
      title={label}
      aria-disabled={run === null}
      onClick={() => run !== null && onChoose(run)}
    >
      <Icon name={name} />
    </button>
  );
}
