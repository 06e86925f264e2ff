import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, send } from "../../api/client";

export interface KeyLine {
  name: string;
  /** Null for a secret that `rightseat keys new` did not create. */
  prefix: string | null;
  user: string;
  scopes: string[];
  state: "active" | "expired" | "revoked";
  expires_at: string | null;
  last_used_at: string | null;
  in: "file" | "store";
}

export interface AccessAnswer {
  keys: KeyLine[];
  /** Whether the signed-in user may change the keys of the store here. */
  can_change: boolean;
  has_store: boolean;
  /** Whether requests need a credential. */
  required: boolean;
  jwt: { issuer: string; audience: string } | null;
  oidc: { issuer: string; name: string } | null;
  origins: string[] | null;
  is_local: boolean;
  file: string;
}

interface AuditAnswer {
  lines: { at: string; text: string; request: string }[];
}

export interface NewKey {
  name: string;
  user?: string;
  scopes?: string[];
  expires_days?: number;
}

export interface MadeKey {
  key: string;
  line: KeyLine;
}

export type Change = "rotate" | "revoke" | "restore";

export const useAccess = () => useQuery({ queryKey: ["access"], queryFn: () => call<AccessAnswer>("access") });
export const useAudit = () => useQuery({ queryKey: ["audit"], queryFn: () => call<AuditAnswer>("audit") });

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
