import { useState } from "react";
import type { Vote } from "../../api/types";
import { Icon } from "../Icon";
import { showToast } from "../toasts";
import { useJudge, useVotes, type Judgement } from "./api";
import { VOTE_ICONS, VOTES } from "./VoteMark";
import { useFeedbackWords } from "./words";

const MAX_COMMENT_CHARS = 4000; // as the server

interface Props {
  thread: string;
  run: string;
  owner: string;
}

/** A vote of the user on the answer of a run. A second press of the same button withdraws it. */
export function VoteButtons({ thread, run, owner }: Props) {
  const t = useFeedbackWords();
  const stored = useVotes({ owner, thread }, true).data?.find((vote) => vote.run === run);
  const { mutate, isPending, variables } = useJudge(run);
  const [hasForm, setHasForm] = useState(false);
  const value = isPending ? variables.value : (stored?.value ?? null);

  function judge(judgement: Judgement) {
    mutate(judgement, {
      onError: (error) => showToast(t("feedback.failed", { reason: error.message }), { isProblem: true }),
      onSuccess: () => judgement.comment && showToast(t("feedback.thanks")),
    });
  }
  function press(pressed: Vote) {
    const next = pressed === value ? null : pressed;
    judge({ value: next });
    setHasForm(next !== null);
  }

  return (
    <>
      <div className="vote-buttons" data-voted={value ?? undefined}>
        {VOTES.map((one) => (
          <button
            key={one}
            type="button"
            className="icon-button"
            data-testid={`vote-${one}`}
            aria-label={t(`feedback.${one}`)}
            aria-pressed={one === value}
            title={t(`feedback.${one}`)}
            onClick={() => press(one)}
          >
            <Icon name={VOTE_ICONS[one]} />
          </button>
        ))}
      </div>
      {hasForm && value && (
        <CommentForm
          key={value}
          label={t(value === "up" ? "feedback.commentGood" : "feedback.comment")}
          onClose={() => setHasForm(false)}
          onSend={(comment) => {
            setHasForm(false);
            judge({ value, comment });
          }}
        />
      )}
    </>
  );
}

interface FormProps {
  label: string;
  onSend: (comment: string) => void;
  onClose: () => void;
}

function CommentForm({ label, onSend, onClose }: FormProps) {
  const t = useFeedbackWords();
  const [text, setText] = useState("");
  const comment = text.trim();
  return (
    <form
      className="vote-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (comment) onSend(comment);
      }}
    >
      <input
        className="field"
        aria-label={label}
        placeholder={label}
        maxLength={MAX_COMMENT_CHARS}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onClose()}
      />
      <button type="submit" className="button primary" disabled={comment === ""}>
        {t("feedback.send")}
      </button>
      <button type="button" className="button" onClick={onClose}>
        {t("feedback.notNow")}
      </button>
    </form>
  );
}
