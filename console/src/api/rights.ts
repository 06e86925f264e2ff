import type { Me, Right } from "./types";

/** The first screen. An operator without an agent of its own has nothing to do in a chat. */
export function homeOf(me: Me | null | undefined): string {
  if (!me || me.rights.use) return "/chat";
  if (me.rights.watch) return me.rights.watch.includes("*") ? "/health" : "/runs?owner=*";
  return me.rights.act ? "/approvals" : me.rights.author ? "/plugins" : "/chat";
}

/** Whether the user has the right for the agent. The right for a group of agents includes its members. */
export function mayDo(me: Me | null | undefined, right: Right, agent: string): boolean {
  const agents = me?.rights[right] ?? [];
  return [agent, agent.split("/", 1)[0], "*"].some((name) => name !== undefined && agents.includes(name));
}
