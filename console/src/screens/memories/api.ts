/** What copilots remember about users. */
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { call, send } from "../../api/client";
import type { MemoryPage, RememberedLine } from "../../api/schema";

export type { RememberedLine };

/** Whose memories: of one user, of all (`*`), or those that all users share. */
export interface Shown {
  owner: string;
  isShared: boolean;
}

const query = ({ owner, isShared }: Shown): Record<string, string> => (isShared ? { scope: "project" } : { owner });

export const useMemories = (shown: Shown) =>
  useInfiniteQuery({
    queryKey: ["memories", shown],
    queryFn: ({ pageParam, signal }) =>
      call<MemoryPage>(
        `memories?${new URLSearchParams({ ...query(shown), ...(pageParam && { after: pageParam }) }).toString()}`,
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    retry: false,
  });

export function useDelete() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, owner }: RememberedLine) => {
      const whose = query({ owner: owner ?? "", isShared: owner === null });
      const address = `memories/${encodeURIComponent(id)}?${new URLSearchParams(whose).toString()}`;
      return send(address, { method: "DELETE", body: {} });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["memories"] }),
  });
}
