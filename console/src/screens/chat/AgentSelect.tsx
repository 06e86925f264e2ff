import type { Agent } from "../../api/types";
import { useWords } from "../../words";

interface Props {
  agents: Agent[];
  value: string;
  onChange: (name: string) => void;
}

export function AgentSelect({ agents, value, onChange }: Props) {
  const t = useWords();
  return (
    <select
      className="field agent"
      aria-label={t("chat.agent")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {agents.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** The wanted agent, else the one named `default`, else the first. */
export function chooseAgent(agents: Agent[], wanted: string | undefined): Agent | undefined {
  const named = (name: string) => agents.find((agent) => agent.name === name);
  return (wanted ? named(wanted) : undefined) ?? named("default") ?? agents[0];
}
