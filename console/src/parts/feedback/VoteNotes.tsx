import { nameFace } from "../../faces";
import { UNKNOWN, useFormat } from "../../format";
import { PinButton } from "../pin/PinButton";
import { useVotes, type FeedbackRow, type VoteQuery } from "./api";
import { VoteMark } from "./VoteMark";
import { useFeedbackWords } from "./words";

/** Votes with their comments and tags, the newest first. */
export function VoteNotes(query: VoteQuery) {
  const votes = useVotes(query, true).data ?? [];
  if (votes.length === 0) return null;
  return (
    <ul className="vote-notes">
      {votes.map((vote) => (
        <VoteNote key={vote.id} vote={vote} />
      ))}
    </ul>
  );
}

function VoteNote({ vote }: { vote: FeedbackRow }) {
  const t = useFeedbackWords();
  const format = useFormat();
  return (
    <li data-testid="vote-note" data-value={vote.value} data-run={vote.run ?? undefined}>
      <VoteMark value={vote.value} />
      <span className="vote-texts">
        {vote.comment && <span className="vote-comment">{vote.comment}</span>}
        {vote.tags.map((tag) => (
          <span key={tag} className="vote-tag">
            {tag}
          </span>
        ))}
        {vote.value === "down" && vote.run && (
          <PinButton run={vote.run} agent={vote.agent ?? ""} owner={vote.owner} wrong={vote.comment ?? ""} hasText />
        )}
        <span className="muted">
          {t("feedback.by", { owner: vote.owner, face: nameFace(vote.through, t("feedback.console")) })} ·{" "}
          {format.full(vote.updated_at) || UNKNOWN}
        </span>
      </span>
    </li>
  );
}
