/** New files and plugins: their names, and what a flow begins with. */
import type { PluginDrafts } from "./drafts";
import template from "./newFlow.yaml?raw";

export const NAME = /^[a-z][a-z0-9_-]{0,62}$/; // the server's rule for plugins

export const flowPath = (name: string) => `flows/${name}.yaml`;

/** A flow without errors, to be changed. */
export const flowText = (name: string) => template.replace("new_flow", name);

export const CASES = "tests/cases.yaml";

/** The first test case of a plugin, for a flow. */
export const caseText = (
  flow: string,
) => `# A case runs without a network and without a model: their replies are written here.
- name: the first case
  flow: ${flow}
  question: ${flow}
  model: {} # by step: what the model replies
  http: [] # the requests in their order: {request: {method, url}, reply: {status, json}}
  expect: { status: succeeded }
`;

/** The paths of files that are not stored yet. */
export const newPathsOf = (drafts: PluginDrafts): string[] =>
  Object.entries(drafts).flatMap(([path, draft]) => (draft.etag === null ? [path] : []));
