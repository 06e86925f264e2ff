/** The cases of evaluations by dataset, with the outcome of the last evaluation of each. */
import { Link } from "wouter";
import { ApiError } from "../../api/client";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import { useShownThread } from "../../log/LiveProvider";
import { Copyable } from "../../parts/Copyable";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useDatasets, type CaseLine, type CaseRules, type DatasetLine } from "../../parts/pin/api";
import { useCasesWords, type CasesWord } from "../../parts/pin/words";
import { useNow } from "../../useNow";
import { useWords } from "../../words";
import "./cases.css";

const COMMAND = "rightseat eval run";

export default function Cases() {
  const t = useCasesWords();
  const common = useWords();
  useShownThread(null);
  const isAllowed = useMe().data?.rights.read?.includes("*") ?? false;
  const { data, error, refetch } = useDatasets(isAllowed);
  if (!isAllowed) return <Notice text={t("cases.notAllowed")} />;
  const isUnsupported = error instanceof ApiError && error.status === 400;
  if (isUnsupported) return <Notice text={t("cases.noStore", { reason: error.message })} />;
  if (error) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;
  return (
    <>
      <Header title={t("cases.title")} />
      <div
        className="page cases"
        role="region"
        aria-label={t("cases.title")}
        // It scrolls, and an empty list has nothing else to focus.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {data && (data.datasets.length === 0 ? <Empty /> : <Datasets datasets={data.datasets} rules={data.rules} />)}
      </div>
    </>
  );
}

function Empty() {
  const t = useCasesWords();
  return (
    <div className="welcome">
      <h2>{t("cases.none")}</h2>
      <p className="muted">{t("cases.noneHint")}</p>
      <Copyable title="sh" text={COMMAND} />
    </div>
  );
}

function Datasets({ datasets, rules }: { datasets: readonly DatasetLine[]; rules: CaseRules }) {
  const t = useCasesWords();
  return (
    <>
      <p className="muted">{rules.folder ? t("cases.folder", { folder: rules.folder }) : t("cases.offered")}</p>
      {datasets.map((dataset) => (
        <Dataset key={dataset.name} dataset={dataset} />
      ))}
    </>
  );
}

const COLUMNS: readonly CasesWord[] = [
  "cases.column.case",
  "cases.column.agent",
  "cases.column.scorers",
  "cases.column.outcome",
];

function Dataset({ dataset: { name, cases, problem } }: { dataset: DatasetLine }) {
  const t = useCasesWords();
  const format = useFormat();
  return (
    <section className="dataset" aria-label={name} data-testid="dataset" data-name={name}>
      <h2>
        {name}{" "}
        {problem === null && (
          <small className="muted">
            {t(cases.length === 1 ? "cases.one" : "cases.count", { count: format.number(cases.length) })}
          </small>
        )}
      </h2>
      {problem !== null && (
        <div className="problem" role="alert">
          <p>{t("cases.problem")}</p>
          <pre>{problem}</pre>
        </div>
      )}
      {cases.length > 0 && (
        <table>
          <thead>
            <tr>
              {COLUMNS.map((word) => (
                <th key={word} scope="col">
                  {t(word)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cases.map((line) => (
              <CaseRow key={line.name} line={line} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function CaseRow({ line }: { line: CaseLine }) {
  const t = useCasesWords();
  return (
    <tr data-testid="case-line" data-name={line.name} data-state={line.outcome ?? undefined}>
      <th scope="row">
        {line.name}
        <p className="case-question" dir="auto">
          {line.question}
        </p>
        <p className="muted">
          {line.run && line.thread && (
            <Link to={`/threads/${encodeURIComponent(line.thread)}?run=${encodeURIComponent(line.run)}`}>
              {t("cases.run")}
            </Link>
          )}{" "}
          {line.redacted === false && <span className="state-chip">{t("cases.notRedacted")}</span>}
        </p>
      </th>
      <td data-label={t("cases.column.agent")}>{line.agent ?? "default"}</td>
      <td data-label={t("cases.column.scorers")}>{line.scorers.join(", ") || t("cases.noScorers")}</td>
      <td data-label={t("cases.column.outcome")}>
        <Outcome line={line} />
      </td>
    </tr>
  );
}

const OUTCOMES = { passed: "done", failed: "failed", diverged: "waiting", error: "failed", unscored: "idle" } as const;
const isKnown = (outcome: string): outcome is keyof typeof OUTCOMES => outcome in OUTCOMES;

function Outcome({ line: { outcome, flaky, at } }: { line: CaseLine }) {
  const t = useCasesWords();
  const format = useFormat();
  const now = useNow();
  if (outcome === null || !isKnown(outcome)) return <span className="muted">{t("cases.notRun")}</span>;
  return (
    <>
      <span className="state-chip" data-state={OUTCOMES[outcome]}>
        {t(`cases.outcome.${outcome}`)}
      </span>{" "}
      {flaky && <span className="state-chip">{t("cases.flaky")}</span>}{" "}
      <span className="muted" title={format.full(at)}>
        {format.when(at, now)}
      </span>
    </>
  );
}
