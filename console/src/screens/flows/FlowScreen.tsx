import { Link } from "wouter";
import { ApiError } from "../../api/client";
import { useFlow, useFlows } from "../../api/queries";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import FlowView from "../../parts/flow/FlowView";
import { Header } from "../../parts/Header";
import { Icon } from "../../parts/Icon";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";
import { FlowOfRun } from "./FlowOfRun";
import { RunSelect } from "./RunSelect";

interface Props {
  plugin: string;
  name: string;
}

/** A flow: its current version, or the run that the address names. */
export default function FlowScreen({ plugin, name }: Props) {
  const t = useWords();
  const [{ run = "" }, setFilters] = useFilters<"run">();
  const agents = useFlows().data?.find((flow) => flow.plugin === plugin && flow.flow === name)?.agents ?? [];
  return (
    <div className="flow-screen">
      <Header title={`${plugin} / ${name}`}>
        {run === "" && agents.length > 0 && (
          <span className="muted flow-agents">{t("flows.agents", { names: agents.join(", ") })}</span>
        )}
        <RunSelect flow={`${plugin}.${name}`} value={run} onChange={(id) => setFilters({ run: id })} />
        <Link to="/flows" className="button all-flows">
          <Icon name="flow" />
          <span>{t("flows.all")}</span>
        </Link>
      </Header>
      {run === "" ? <CurrentVersion plugin={plugin} name={name} /> : <FlowOfRun key={run} run={run} name={name} />}
    </div>
  );
}

function CurrentVersion({ plugin, name }: Props) {
  const t = useWords();
  useShownThread(null);
  const { data: graph, error, refetch } = useFlow(plugin, name, undefined);
  if (error instanceof ApiError && error.status === 404) return <Notice text={t("flow.missing")} />;
  if (error) return <Notice text={t("error.unreachable")} onRetry={() => void refetch()} />;
  return graph ? <FlowView plugin={plugin} graph={graph} flow={null} /> : null;
}
