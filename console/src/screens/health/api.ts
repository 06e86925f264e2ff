import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client";

export type CheckState = "fine" | "look" | "broken" | "note";

export interface HealthCheck {
  id: string;
  /** The part that was checked, such as `models.default`. */
  subject: string;
  state: CheckState;
  title: string;
  detail: string;
  fix: { text: string; command?: string; yaml?: string; docs?: string } | null;
  milliseconds: number;
}

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
