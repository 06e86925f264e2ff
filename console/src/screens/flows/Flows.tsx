import { Link } from "wouter";
import { useFlows } from "../../api/queries";
import type { FlowLine } from "../../api/types";
import { useShownThread } from "../../log/LiveProvider";
import { Asks } from "../../parts/flow/Asks";
import { Header } from "../../parts/Header";
import { WithCode } from "../../parts/WithCode";
import { Icon } from "../../parts/Icon";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";
import "./flows.css";

/** The flows that the user may run, by plugin. */
export default function Flows() {
  const t = useWords();
  useShownThread(null);
  const { data: flows, isError, refetch } = useFlows();
  if (isError) return <Notice text={t("error.unreachable")} onRetry={() => void refetch()} />;
  return (
    <>
      <Header title={t("flows.title")} />
      <div className="page flows">
        {flows?.length === 0 && (
          <div className="welcome">
            <h2>{t("flows.none")}</h2>
            <p className="muted">
              <WithCode text={t("flows.hint")} />
            </p>
            <pre>
              <code>rightseat plugin new my-plugin</code>
            </pre>
          </div>
        )}
        {groupByPlugin(flows ?? []).map(([plugin, lines]) => (
          <section key={plugin} aria-labelledby={`plugin-${plugin}`}>
            <h2 id={`plugin-${plugin}`}>{plugin}</h2>
            <ul>
              {lines.map((line) => (
                <li key={`${line.flow} ${line.digest}`}>
                  <FlowCard line={line} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

function FlowCard({ line }: { line: FlowLine }) {
  const t = useWords();
  return (
    <Link to={`/flows/${encodeURIComponent(line.plugin)}/${encodeURIComponent(line.flow)}`} className="flow-card">
      <span className="flow-card-head">
        <Icon name="flow" />
        <strong>{line.flow}</strong>
        {line.asks && <Asks />}
      </span>
      <span className="flow-card-text">{withoutMarkup(line.description)}</span>
      <span className="muted">
        {t(line.steps === 1 ? "flows.step" : "flows.steps", { count: line.steps })} ·{" "}
        {t("flows.agents", { names: line.agents.join(", ") })}
      </span>
    </Link>
  );
}

/** Descriptions are Markdown for models. A card is one link, and has plain text. */
const withoutMarkup = (text: string) => text.replace(/\*\*|`/g, "");

function groupByPlugin(flows: FlowLine[]): [string, FlowLine[]][] {
  const groups = new Map<string, FlowLine[]>();
  for (const line of flows) groups.set(line.plugin, [...(groups.get(line.plugin) ?? []), line]);
  return [...groups];
}
