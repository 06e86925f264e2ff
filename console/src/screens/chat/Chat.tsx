import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useCallback, useDeferredValue, useEffect, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, startRun, stopRun } from "../../api/client";
import { agentsQuery, useAgents, useMe, useThread } from "../../api/queries";
import { mayDo } from "../../api/rights";
import type { FilePart } from "../../api/types";
import { EMPTY, type Conversation as ConversationData } from "../../log/fold";
import { useFilters } from "../../location";
import { lazyPart } from "../../loadChunk";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Icon } from "../../parts/Icon";
import { currentSettings } from "../../settings";
import { useIsWide } from "../../useIsWide";
import { useWords } from "../../words";
import { AgentSelect, chooseAgent } from "./AgentSelect";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { OwnerNote } from "./OwnerNote";
import { RunStatus } from "./RunStatus";
import { useChatMarks } from "./useChatMarks";
import { useThreadId } from "./useThreadId";
import { Welcome } from "./Welcome";
import "./chat.css";

const loadRunPanel = () => import("../../parts/timeline/RunPanel");
const RunPanel = lazyPart(loadRunPanel);
/** So that it is there when the first run begins. */
const preloadRunPanel = () => void loadRunPanel().catch(() => {}); // the panel tells what went wrong
/** Narrower screens have the panel behind a button. */
const WIDE_PX = 1101;

const NOTHING = { conversation: EMPTY, entries: [], isCaughtUp: false };

/** A new thread if `thread` is null. */
export function Chat({ thread }: { thread: string | null }) {
  const t = useWords();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const [, changeFilters] = useFilters<"run">();
  const id = useThreadId(thread);
  const snapshot = useShownThread(id);
  const shown = useMemo(() => (snapshot.thread === id ? snapshot : { ...snapshot, ...NOTHING }), [snapshot, id]);
  const { conversation } = shown;
  const me = useMe().data;
  const isWide = useIsWide(WIDE_PX);
  const [panel, setPanel] = useState<"auto" | "open" | "closed">("auto");
  const closePanel = useCallback(() => setPanel("closed"), []);
  const earlier = useDeferredValue(shown); // text that streams is drawn before the panel
  const deferred = earlier.thread === id ? earlier : shown;
  const hasPanel = thread !== null && (panel === "auto" ? isWide : panel === "open");
  const stored = useThread(thread);
  const agents = useAgents().data ?? [];
  const [chosen, setChosen] = useState<{ thread: string; agent: string } | null>(null);
  const { run } = conversation;
  const wanted = chosen?.thread === id ? chosen.agent : run?.agent;
  const agent = chooseAgent(agents, wanted);
  const isRunning = run?.state === "running";
  useChatMarks(conversation, thread !== null && shown.isCaughtUp && !hasPanel); // the panel marks it itself

  const send = useMutation({
    mutationFn: async (asked: { text?: string; parts?: FilePart[]; replaces?: string }) => {
      const known = agent ?? chooseAgent(await client.ensureQueryData(agentsQuery(currentSettings().language)), wanted); // not loaded yet
      return startRun(known?.name ?? "", { thread: id, ...asked });
    },
    onSuccess: (started) => {
      if (thread === null) navigate(`/threads/${encodeURIComponent(started.thread)}`);
      else changeFilters({ run: "" }); // an earlier version that was shown is not continued
    },
  });
  const { mutateAsync: ask } = send;
  const replace = useCallback((message: string, text?: string) => ask({ replaces: message, text }), [ask]);
  const stop = useMutation({ mutationFn: stopRun });
  const { reset: resetSend } = send;
  const { reset: resetStop } = stop;
  useEffect(() => {
    resetSend();
    resetStop();
  }, [thread, resetSend, resetStop]);

  const isEmpty = conversation.items.length === 0;
  const isMissing = isEmpty && shown.isCaughtUp && stored.error instanceof ApiError && stored.error.status === 404;
  const owner = stored.data?.thread.owner;
  const isForeign = thread !== null && me !== undefined && owner !== undefined && owner !== me?.user;
  const mayAct = mayDo(me, "act", run?.agent ?? "");
  const canReplace = !isForeign && !isRunning && !send.isPending && run !== null && agent !== undefined;
  const isReadable = stored.data?.readable ?? true;
  const fallback = isForeign ? t("threads.of", { owner }) : t("nav.chat");
  const title = titleOf(stored.data?.thread.name, conversation, fallback);
  return (
    <div className="chat">
      <Header title={thread ? title : t("chat.newThread")}>
        {run && <RunStatus run={run} />}
        {thread !== null && !isMissing && (
          <button
            type="button"
            className="button panel-toggle"
            aria-expanded={hasPanel}
            onClick={() => setPanel(hasPanel ? "closed" : "open")}
          >
            <Icon name="timeline" />
            <span>{t("timeline.toggle")}</span>
          </button>
        )}
        {thread !== null && (
          <Link to="/chat" className="button new-thread">
            <Icon name="plus" />
            <span>{t("chat.newThread")}</span>
          </Link>
        )}
      </Header>
      {isForeign && (
        <OwnerNote owner={owner} isReadable={isReadable} error={stop.error}>
          {isRunning && mayAct && (
            <button type="button" className="button" onClick={() => stop.mutate(run.id)}>
              <Icon name="stop" />
              {t("chat.stop")}
            </button>
          )}
        </OwnerNote>
      )}
      <div className="chat-body" data-panel={hasPanel ? (isReadable ? "beside" : "only") : undefined}>
        <div className="chat-main">
          {isMissing ? <p className="welcome">{t("chat.notFound")}</p> : null}
          {thread === null && isEmpty ? (
            <Welcome agent={agent} onAsk={send.isPending ? undefined : (text) => send.mutate({ text })} />
          ) : null}
          <Conversation
            key={id}
            thread={id}
            conversation={conversation}
            isReadOnly={isForeign && !mayAct}
            isJudged={owner !== undefined && !isForeign}
            onReplace={canReplace ? replace : undefined}
          />
          {!isForeign && !isMissing && me?.rights.use && (
            <Composer
              draftOf={thread}
              isRunning={isRunning}
              isSending={send.isPending}
              error={send.error ?? stop.error}
              onSend={(text, parts) => send.mutateAsync({ text, parts })}
              onStop={() => run && stop.mutate(run.id)}
              onType={isWide ? preloadRunPanel : undefined}
            >
              <AgentSelect
                agents={agents}
                value={agent?.name ?? ""}
                onChange={(name) => setChosen({ thread: id, agent: name })}
              />
            </Composer>
          )}
        </div>
        {hasPanel && thread !== null && (
          <Suspense fallback={<section className="run-panel" />}>
            <RunPanel key={thread} thread={thread} snapshot={deferred} onClose={closePanel} />
          </Suspense>
        )}
      </div>
    </div>
  );
}

function titleOf(name: string | null | undefined, conversation: ConversationData, fallback: string): string {
  if (name) return name;
  const first = conversation.items.find((item) => item.kind === "message" && item.role === "user");
  return first?.kind === "message" && first.text ? first.text : fallback;
}
