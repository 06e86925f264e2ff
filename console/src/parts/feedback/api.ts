/** Votes of users on answers. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/client";
import type { FeedbackCount, FeedbackLine, FeedbackRow, VoteCounts, VotePage } from "../../api/schema";
import type { Vote } from "../../api/types";

export type { FeedbackCount, FeedbackRow };

export interface VoteQuery {
  owner: string;
  thread?: string;
  run?: string;
}

export interface Judgement {
  /** Null withdraws the vote. */
  value: Vote | null;
  comment?: string;
}

const MAX_ROWS = 200;

/** The newest first, with comments: only for their user, and operators with the right to read. */
export const useVotes = (query: VoteQuery, enabled: boolean) =>
  useQuery({
    queryKey: ["feedback", query],
    queryFn: () => call<VotePage>(`feedback?${new URLSearchParams({ ...query, limit: String(MAX_ROWS) })}`),
    enabled,
    select: (page) => page.feedback,
  });

/** Counts of all users, over time. */
export const useVoteCounts = (bucket: VoteCounts["bucket"], since: string, agent: string, refetchInterval: number) =>
  useQuery({
    queryKey: ["feedback-counts", bucket, since, agent],
    queryFn: () =>
      call<VoteCounts>(
        `feedback/counts?${new URLSearchParams({ owner: "*", bucket, since, ...(agent && { agent }) })}`,
      ),
    refetchInterval,
    placeholderData: (previous) => previous,
    select: (answer) => answer.counts,
  });

/** Stores a vote on an answer of one's own. */
export function useJudge(run: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (judgement: Judgement) =>
      call<FeedbackLine>("feedback", { method: "POST", body: { id: run, ...judgement } }),
    onSuccess: () =>
      Promise.all(["feedback", "thread"].map((key) => client.invalidateQueries({ queryKey: [key] }))).then(() => {}),
  });
}
