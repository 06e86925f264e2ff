import type { Me, Right } from "./types";

/** Whether the user has the right for the agent. The right for a group of agents includes its members. */
export function mayDo(me: Me | null | undefined, right: Right, agent: string): boolean {
  const agents = me?.rights[right] ?? [];
  return [agent, agent.split("/", 1)[0], "*"].some((name) => name !== undefined && agents.includes(name));
}
