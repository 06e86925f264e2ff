import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { getPlugins, type PluginReport } from "../../api/plugins";
import { useMe } from "../../api/queries";
import { mayDo } from "../../api/rights";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";
import { FileTree } from "./FileTree";
import { NewButtons } from "./NewButtons";
import { OpenPlugin } from "./OpenPlugin";
import { useDrafts } from "./drafts";
import { useWorkbenchWords } from "./words";
import "./plugins.css";

interface Props {
  /** Of the address; null where it names none. */
  plugin: string | null;
  path: string | null;
}

/** The plugins of the server: their files, problems, and drafts that can be tried and saved. */
export default function Workbench({ plugin, path }: Props) {
  const t = useWorkbenchWords();
  const common = useWords();
  useShownThread(null);
  const me = useMe().data;
  const isAuthor = mayDo(me, "author", "*");
  const isAllowed = isAuthor || mayDo(me, "watch", "*");
  const { data, isError, refetch } = useQuery({ queryKey: ["plugins"], queryFn: getPlugins, enabled: isAllowed });
  if (!isAllowed) return <Notice text={t("plugins.noRight")} />;
  if (isError) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;
  if (!data) return <Header title={t("plugins.title")} />;
  if (data.length === 0) return <NoPlugins canSave={isAuthor && me?.edit === true} />;
  return <Plugins plugins={data} plugin={plugin} path={path} isAuthor={isAuthor} />;
}

function Plugins({ plugins, plugin, path, isAuthor }: Props & { plugins: PluginReport[]; isAuthor: boolean }) {
  const t = useWorkbenchWords();
  const [, navigate] = useLocation();
  const shown = plugin ?? plugins[0]?.id ?? "";
  const [drafts, changeDraft] = useDrafts(shown);
  const found = plugins.find((one) => one.id === shown);
  const opened = path ?? (isAuthor && found ? firstPathOf(found) : null);

  function open(id: string, file: string | null) {
    navigate(addressOf(id, file));
  }

  return (
    <OpenPlugin
      key={shown}
      plugin={found ?? null}
      path={opened}
      isAuthor={isAuthor}
      drafts={drafts}
      changeDraft={changeDraft}
      onOpen={(file) => open(shown, file)}
      onOpenPlugin={(id) => open(id, null)}
      tree={<FileTree plugins={plugins} plugin={shown} path={opened} drafts={drafts} onOpen={open} />}
      title={found ? found.id : t("plugins.title")}
    />
  );
}

/** The file that is open before one was chosen: a flow, if there is one. */
const firstPathOf = ({ files }: PluginReport) =>
  (files.find(({ path }) => path.startsWith("flows/")) ?? files[0])?.path ?? null;

const addressOf = (plugin: string, path: string | null) =>
  ["/plugins", plugin, ...(path?.split("/") ?? [])]
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join("/");

function NoPlugins({ canSave }: { canSave: boolean }) {
  const t = useWorkbenchWords();
  const [, navigate] = useLocation();
  return (
    <>
      <Header title={t("plugins.title")}>
        <NewButtons
          plugin={null}
          paths={[]}
          canSave={canSave}
          onFlow={() => undefined}
          onPlugin={(id) => navigate(addressOf(id, null))}
        />
      </Header>
      <div className="page welcome">
        <h2>{t("plugins.none")}</h2>
        <p className="muted">{t("plugins.hint")}</p>
        <pre>
          <code>rightseat plugin new my-plugin</code>
        </pre>
      </div>
    </>
  );
}
