/** Beside the list: what a thread did, without opening its conversation. */
import { Link } from "wouter";
import { chartUrl, fileUrl } from "../../api/client";
import { useMe, useThread } from "../../api/queries";
import type { FileLine, ThreadAnswer } from "../../api/types";
import { nameFace } from "../../faces";
import { useFormat } from "../../format";
import { VoteNotes } from "../../parts/feedback/VoteNotes";
import { useFeedbackWords } from "../../parts/feedback/words";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";
import { Drawer } from "./Drawer";
import { setArchived } from "./removal";
import { RunCard } from "./RunCard";
import { useListWords } from "./words";

const MAX_RUNS = 8; // each asks for its spans
const CHART = "application/vnd.echarts+json";

interface Props {
  thread: string;
  onRename: () => void;
  onClose: () => void;
}

export function ThreadDrawer({ thread, onRename, onClose }: Props) {
  const own = useListWords();
  const { data, error } = useThread(thread);
  return (
    <Drawer label={own("drawer.thread")} id={thread} error={error} isLoading={!data} onClose={onClose}>
      {data && <Details answer={data} onRename={onRename} onClose={onClose} />}
    </Drawer>
  );
}

interface DetailsProps extends Omit<Props, "thread"> {
  answer: ThreadAnswer;
}

function Details({ answer, onRename, onClose }: DetailsProps) {
  const t = useWords();
  const own = useListWords();
  const feedback = useFeedbackWords();
  const format = useFormat();
  const isOwn = answer.thread.owner === useMe().data?.user;
  const { id, owner, archived, created_at } = answer.thread;
  const name = answer.thread.name || t("threads.untitled");
  const address = `/threads/${encodeURIComponent(id)}`;
  const runs = answer.runs.toReversed();
  const faces = [...new Set(runs.flatMap((run) => run.through ?? []))];
  return (
    <>
      <h2>{name}</h2>
      <p className="muted">
        <code title={id}>{id}</code> · {isOwn ? t("list.you") : owner} · {format.full(created_at)}
      </p>
      <div className="drawer-actions">
        <Link to={address} className="button primary">
          {own("drawer.open")}
        </Link>
        {runs[0] && (
          <Link to={`${address}?run=${encodeURIComponent(runs[0].id)}`} className="button">
            {own("drawer.timeline")}
          </Link>
        )}
        {isOwn && (
          <>
            <button type="button" className="button plain" onClick={onRename}>
              {t("threads.rename")}
            </button>
            <button
              type="button"
              className="button plain"
              onClick={() => {
                onClose();
                void setArchived(id, name, !archived, t);
              }}
            >
              {t(archived ? "threads.unarchive" : "threads.archive")}
            </button>
          </>
        )}
      </div>
      {runs.length > 0 && <h3>{own("drawer.runs")}</h3>}
      {runs.slice(0, MAX_RUNS).map((run) => (
        <RunCard key={run.id} run={run} />
      ))}
      {runs.length > MAX_RUNS && (
        <Link to={address}>{own("drawer.earlier", { count: format.number(runs.length - MAX_RUNS) })}</Link>
      )}
      {runs.some((run) => run.feedback) && (isOwn || answer.readable) && (
        <>
          <h3>{feedback("feedback.title")}</h3>
          <VoteNotes owner={owner} thread={id} />
        </>
      )}
      {answer.files.length > 0 && <Files files={answer.files} />}
      {faces.length > 0 && (
        <>
          <h3>{own("drawer.faces")}</h3>
          <p>{faces.map((face) => nameFace(face, own("drawer.console"))).join(", ")}</p>
        </>
      )}
      {!isOwn && (
        <p className="drawer-note" role="note">
          {own(answer.readable ? "drawer.readable" : "drawer.numbersOnly", {
            right: answer.readable ? "operator.read" : "operator.watch",
          })}
        </p>
      )}
    </>
  );
}

function Files({ files }: { files: readonly FileLine[] }) {
  const own = useListWords();
  return (
    <>
      <h3>{own("drawer.files")}</h3>
      <ul className="drawer-files">
        {files.map((file) => (
          <li key={file.id}>
            <Icon name={file.media_type === CHART ? "metrics" : "file"} />
            <a href={file.media_type === CHART ? chartUrl(file.id) : fileUrl(file.id)} target="_blank" rel="noreferrer">
              {file.name}
            </a>
            <span className="muted">{own(file.media_type === CHART ? "drawer.chart" : "drawer.file")}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
