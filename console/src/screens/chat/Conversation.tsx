import { Fragment, Suspense, useMemo } from "react";
import { isAnswered, useApprovals, useMe } from "../../api/queries";
import { lazyPart } from "../../loadChunk";
import { useFilters } from "../../location";
import { itemsWith, versionsOf } from "../../log/branches";
import type { Conversation as ConversationData, Item, Run } from "../../log/fold";
import { CopyIcon } from "../../parts/CopyIcon";
import { Icon } from "../../parts/Icon";
import { Question } from "../../parts/question/Question";
import { useWords } from "../../words";
import { Artifact } from "./Artifact";
import { Call } from "./Call";
import { Failure } from "./Failure";
import { MessageBubble } from "./MessageBubble";
import { Reasoning } from "./Reasoning";
import { useLatest } from "./useLatest";
import { UserMessage } from "./UserMessage";
import { useStickToEnd } from "./useStickToEnd";
import { VersionArrows } from "./VersionArrows";

const VoteButtons = lazyPart(async () => {
  const { VoteButtons: part } = await import("../../parts/feedback/VoteButtons");
  return { default: part };
});

interface Props {
  thread: string;
  conversation: ConversationData;
  /** Whether the user may not answer its questions. */
  isReadOnly: boolean;
  /** Whether the thread is stored, and the user's own. */
  isJudged: boolean;
  /** Asks a message of the user anew; undefined if that is not possible now. */
  onReplace?: (message: string, text?: string) => Promise<unknown>;
}

export function Conversation({ thread, conversation, isReadOnly, isJudged, onReplace }: Props) {
  const t = useWords();
  const { forks, run } = conversation;
  const [{ run: wanted }, changeFilters] = useFilters<"run">();
  const items = useMemo(() => itemsWith(conversation.items, forks, wanted), [conversation.items, forks, wanted]);
  const versions = useMemo(() => versionsOf(conversation.items, forks), [conversation.items, forks]);
  const isEarlier = items !== conversation.items;
  const user = useMe().data?.user;
  const answers = useMemo(() => findAnswers(items, run), [items, run]);
  const times = useMemo(() => timesOf(conversation), [conversation]);
  const { shown, hasEarlier, showEarlier } = useLatest(items);
  const { box, onScroll, isAtEnd, jump } = useStickToEnd(items, shown.length);
  /** Asks the question of a failed run again. */
  function retryOf(all: readonly Item[], failed: string): (() => void) | undefined {
    const asked = all.findLast((item) => item.kind === "message" && item.role === "user" && item.run === failed);
    if (!asked || !onReplace) return undefined;
    return () => void onReplace(asked.id).catch(() => {}); // the composer shows the error
  }

  return (
    <div className="scroller" ref={box} onScroll={onScroll}>
      <div className="conversation" role="log" aria-label={t("chat.conversation")} aria-busy={run?.state === "running"}>
        {hasEarlier && (
          <button type="button" className="button earlier" onClick={showEarlier}>
            {t("chat.earlier")}
          </button>
        )}
        {shown.map((item) => (
          <Fragment key={`${item.kind} ${item.id}`}>
            <ItemView
              item={item}
              thread={thread}
              latestRun={run?.id}
              at={times.get(item.run) ?? null}
              isReadOnly={isReadOnly || isEarlier}
              onReplace={isEarlier ? undefined : onReplace}
              onRetry={item.kind === "failure" && item.run === run?.id ? retryOf(items, item.run) : undefined}
            />
            <VersionArrows version={versions.get(item)} onChoose={(chosen) => changeFilters({ run: chosen })} />
            {item.kind === "message" && answers.has(item) && (
              <div className="answer-actions">
                <CopyIcon text={item.text} name={t("copy.answer")} />
                {user && isJudged && (
                  <Suspense fallback={null}>
                    <VoteButtons thread={thread} run={item.run} owner={user} />
                  </Suspense>
                )}
              </div>
            )}
          </Fragment>
        ))}
        {isEarlier && (
          <p className="earlier-version" role="note">
            {t("chat.earlierVersion")}{" "}
            <button type="button" className="button" onClick={() => changeFilters({ run: "" })}>
              {t("chat.latestVersion")}
            </button>
          </p>
        )}
      </div>
      {!isAtEnd && (
        <button type="button" className="button jump" aria-label={t("chat.latest")} onClick={jump}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** When each run began, in milliseconds of the clock, where that is known. */
function timesOf({ timeline }: ConversationData): Map<string, number> {
  const { origin, runs } = timeline;
  return new Map(origin === null ? [] : runs.map((run) => [run.id, origin + run.from]));
}

/** The last text of each run that has ended: there an answer is judged. */
function findAnswers(items: readonly Item[], run: Run | null): Set<Item> {
  const last = new Map<string, Item>();
  for (const item of items) {
    const isText = item.kind === "message" && item.role === "assistant" && item.text !== "";
    if (isText && (item.run !== run?.id || run.state !== "running")) last.set(item.run, item);
  }
  return new Set(last.values());
}

interface ItemProps extends Omit<Props, "conversation" | "isJudged"> {
  item: Item;
  latestRun: string | undefined;
  /** When its run began. */
  at: number | null;
  onRetry: (() => void) | undefined;
}

function ItemView({ item, thread, latestRun, at, isReadOnly, onReplace, onRetry }: ItemProps) {
  const pending = useApprovals().data;
  switch (item.kind) {
    case "message":
      if (item.role === "user" && onReplace) return <UserMessage item={item} at={at} onReplace={onReplace} />;
      return <MessageBubble item={item} at={item.role === "user" ? at : null} />;
    case "reasoning":
      return <Reasoning item={item} />;
    case "call":
      return <Call item={item} />;
    case "artifact":
      return <Artifact item={item} />;
    case "failure":
      return <Failure item={item} onRetry={onRetry} />;
    case "question": {
      // The run that asked is the latest one until the question is answered, also before the list is fetched again.
      const isOpen =
        item.run === latestRun || (pending ?? []).some((approval) => approval.id === item.id && !isAnswered(approval));
      return <Question question={{ ...item, thread }} isOpen={isOpen} isReadOnly={isReadOnly} />;
    }
  }
}
