import type { Vote } from "../../api/types";
import { Icon } from "../Icon";
import { useFeedbackWords } from "./words";
import "./feedback.css";

export const VOTES: readonly Vote[] = ["up", "down"];
export const VOTE_ICONS = { up: "thumbUp", down: "thumbDown" } as const;

/** A thumb, with its meaning for screen readers. */
export function VoteMark({ value }: { value: Vote }) {
  const t = useFeedbackWords();
  return (
    <span className="vote" data-testid="vote" data-value={value} title={t(`feedback.${value}`)}>
      <Icon name={VOTE_ICONS[value]} />
      <span className="visually-hidden">{t(`feedback.${value}`)}</span>
    </span>
  );
}
