import type { Problem } from "../../api/plugins";
import { useWorkbenchWords } from "./words";

interface Props {
  problems: Problem[];
  /** Null where nothing can be changed. */
  onReplace: ((problem: Problem) => void) | null;
  onOpen: (file: string) => void;
}

export function Problems({ problems, onReplace, onOpen }: Props) {
  const t = useWorkbenchWords();
  if (problems.length === 0) return <p className="muted">{t("problems.none")}</p>;
  return (
    <ul className="problems">
      {problems.map((problem, index) => (
        <li
          key={index}
          data-testid="problem"
          data-code={problem.code}
          data-line={problem.line}
          data-severity={problem.severity}
        >
          <p>
            <strong>{problem.code}</strong>{" "}
            <span className="severity">{t(`problems.severity.${problem.severity}`)}</span>{" "}
            <button type="button" className="link" onClick={() => onOpen(problem.file)}>
              {problem.line > 0 ? t("problems.place", { file: problem.file, line: problem.line }) : problem.file}
            </button>
          </p>
          <p className="plain">{problem.message}</p>
          {problem.hint && <p className="muted plain">{problem.hint}</p>}
          {problem.suggestion && onReplace && (
            <p>
              <code>{problem.suggestion}</code>{" "}
              <button type="button" className="button small" onClick={() => onReplace(problem)}>
                {t("problems.replace")}
              </button>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
