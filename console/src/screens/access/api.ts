import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, send } from "../../api/client";
import type * as Api from "../../api/schema";

export type KeyLine = Api.KeyLine;
export type AccessAnswer = Api.AccessLine;
export type MadeKey = Api.CreatedKey;

export interface NewKey {
  name: string;
  user?: string;
  scopes?: string[];
  expires_days?: number;
}

export type Change = "rotate" | "revoke" | "restore";

export const useAccess = () => useQuery({ queryKey: ["access"], queryFn: () => call<AccessAnswer>("access") });
export const useAudit = () => useQuery({ queryKey: ["audit"], queryFn: () => call<Api.AuditPage>("audit") });

const createKey = (body: NewKey) => call<MadeKey>("access/keys", { method: "POST", body });

async function changeKey({ name, change }: { name: string; change: Change }): Promise<MadeKey | null> {
  const path = `access/keys/${encodeURIComponent(name)}/${change}`;
  const response = await send(path, { method: "POST", body: {} });
  return change === "rotate" ? (response.json() as Promise<MadeKey>) : null;
}

export const useCreateKey = () => useChange(createKey);
export const useChangeKey = () => useChange(changeKey);

/** The list and the audit log are read again afterwards. */
function useChange<T, R>(mutationFn: (value: T) => Promise<R>) {
  const queries = useQueryClient();
  const onSettled = () => {
    void queries.invalidateQueries({ queryKey: ["access"] });
    void queries.invalidateQueries({ queryKey: ["audit"] });
  };
  return useMutation({ mutationFn, onSettled });
}
