import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client";
import type * as Api from "../../api/schema";

export type HealthCheck = Api.CheckLine;
export type CheckState = HealthCheck["state"];

const KEY = ["health"];

/** At first without asking the models, which costs tokens; `checkAgain` asks them. */
export function useHealth(isAllowed: boolean) {
  const queries = useQueryClient();
  const first = useQuery({
    queryKey: KEY,
    queryFn: () => call<HealthCheck[]>("health"),
    enabled: isAllowed,
    staleTime: Infinity,
    gcTime: 0, // the screen checks anew each time that it is opened
  });
  const again = useQuery({
    queryKey: ["health", "deep"],
    queryFn: async () => {
      const found = await call<HealthCheck[]>("health?deep");
      queries.setQueryData(KEY, found);
      return found;
    },
    enabled: false,
    retry: false,
  });
  return {
    checks: first.data,
    error: first.error ?? again.error,
    isChecking: again.isFetching || first.isFetching,
    checkAgain: () => void again.refetch(),
  };
}
