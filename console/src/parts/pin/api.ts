/** Cases of evaluations: which there are, and how a run becomes one. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client";
import type { RunChanges } from "../../api/types";
import type { CaseLine, CaseRules, DatasetLine, DatasetList, PinnedLine } from "../../api/schema";

export type { CaseLine, CaseRules, DatasetLine, PinnedLine };

export interface CaseRequest {
  dataset: string;
  name?: string;
  wrong?: string;
  consent?: string;
  /** Those of a rerun that is kept. */
  changes?: RunChanges;
}

const pin = (run: string, body: CaseRequest & { preview?: boolean }) =>
  call<PinnedLine>(`runs/${encodeURIComponent(run)}/pin`, { method: "POST", body });

/** All datasets, with what the server does with a new case. Needs the right to read for all agents. */
export const useDatasets = (enabled: boolean) =>
  useQuery({ queryKey: ["evals"], queryFn: () => call<DatasetList>("evals"), enabled, retry: false });

/** The case as it would be written. */
export const usePreview = (run: string, request: CaseRequest, enabled: boolean) =>
  useQuery({
    queryKey: ["pin", run, request],
    queryFn: () => pin(run, { ...request, preview: true }),
    enabled,
    retry: false,
    placeholderData: (previous) => previous, // the text does not disappear while it changes
  });

export function usePin(run: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: CaseRequest) => pin(run, request),
    onSuccess: () => client.invalidateQueries({ queryKey: ["evals"] }),
  });
}

export interface OfferedFile {
  name: string;
  content: Blob;
}

/** The files of a case that the server did not write. */
export function filesOf({ dataset, text, files }: PinnedLine): OfferedFile[] {
  if (text === null) return [];
  const beside = Object.entries(files ?? {}).map(([name, data]) => ({
    name,
    content: new Blob([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))]),
  }));
  return [{ name: `${dataset}.yaml`, content: new Blob([text], { type: "application/yaml" }) }, ...beside];
}
