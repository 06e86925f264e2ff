import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client";

export interface AccessAnswer {
  /** `prefix` is null for a secret that `rightseat keys new` did not create. */
  keys: { name: string; prefix: string | null; user: string; scopes: string[] }[];
  jwt: { issuer: string; audience: string } | null;
  origins: string[] | null;
  is_local: boolean;
  file: string;
}

interface AuditAnswer {
  lines: { at: string; text: string; request: string }[];
}

export const useAccess = () => useQuery({ queryKey: ["access"], queryFn: () => call<AccessAnswer>("access") });
export const useAudit = () => useQuery({ queryKey: ["audit"], queryFn: () => call<AuditAnswer>("audit") });
