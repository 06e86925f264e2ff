import { useRef, useState } from "react";
import { navigate } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { Tabs } from "../../parts/Tabs";
import { useWords } from "../../words";
import { useFaces, useSnippets, type FaceLine } from "./api";
import { CopyButton } from "./CopyButton";
import { SnippetCard } from "./SnippetCard";
import { useConnectWords } from "./words";
import "./connect.css";

let typedKey = ""; // of this tab; nothing stores it

/** How clients connect to this server, by face. */
export default function Connect({ face }: { face: string | null }) {
  const t = useConnectWords();
  const common = useWords();
  useShownThread(null);
  const { data: faces, isError, refetch } = useFaces();
  if (isError) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;
  const configured = faces?.filter((one) => one.configured) ?? [];
  const others = faces?.filter((one) => !one.configured) ?? [];
  const shown = configured.find((one) => one.face === face) ?? configured[0];
  return (
    <>
      <Header title={t("connect.title")} />
      <div className="page connect">
        {faces && !shown && (
          <div className="welcome">
            <h2>{t("connect.none")}</h2>
            <p className="muted">{t("connect.noneHint")}</p>
          </div>
        )}
        {shown && (
          <>
            <Tabs
              id="connect"
              label={t("connect.faces")}
              names={configured.map((one) => one.face)}
              selected={shown.face}
              onSelect={(name) => navigate(`/connect/${encodeURIComponent(name)}`, { replace: true })}
            >
              {(name) => configured.find((one) => one.face === name)?.name}
            </Tabs>
            <div id="connect-body" role="tabpanel" aria-labelledby={`connect-tab-${shown.face}`}>
              <Snippets key={shown.face} face={shown} />
            </div>
          </>
        )}
        {others.length > 0 && <Others faces={others} />}
      </div>
    </>
  );
}

function Snippets({ face }: { face: FaceLine }) {
  const t = useConnectWords();
  const common = useWords();
  const [agent, setAgent] = useState("");
  const [key, setKey] = useState(typedKey);
  const [isKeyWanted, setKeyWanted] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const { data: snippets, isError, refetch } = useSnippets(face.face, agent);
  if (isError) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;

  function changeKey(value: string) {
    typedKey = value;
    setKey(value);
    if (value !== "") setKeyWanted(false);
  }

  return (
    <>
      <div className="connect-options">
        <p className="muted">{t(face.requires_key ? "connect.introKey" : "connect.intro")}</p>
        {face.agents.length > 1 && (
          <label>
            {t("connect.agent")}
            <select className="field" value={agent} onChange={(event) => setAgent(event.target.value)}>
              {face.agents.map((name, index) => (
                <option key={name} value={index === 0 ? "" : name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        {face.requires_key && (
          <label>
            {t("connect.key")}
            <input
              ref={field}
              type="text"
              className="field secret"
              autoComplete="off"
              spellCheck={false}
              aria-describedby="connect-key-hint"
              aria-invalid={isKeyWanted}
              value={key}
              onChange={(event) => changeKey(event.target.value.trim())}
            />
          </label>
        )}
        {face.requires_key && (
          <p
            id="connect-key-hint"
            className={isKeyWanted ? "problem" : "muted"}
            role={isKeyWanted ? "alert" : undefined}
          >
            {t(isKeyWanted ? "connect.keyWanted" : "connect.keyHint")}
          </p>
        )}
      </div>
      {snippets?.map((snippet) => (
        <SnippetCard
          key={`${agent} ${snippet.title}`}
          face={face}
          snippet={snippet}
          typedKey={key}
          onKeyWanted={() => {
            setKeyWanted(true);
            field.current?.focus();
          }}
        />
      ))}
    </>
  );
}

/** Faces that the configuration does not have, with the lines that add them. */
function Others({ faces }: { faces: FaceLine[] }) {
  const t = useConnectWords();
  return (
    <section className="connect-others" aria-labelledby="connect-others">
      <h2 id="connect-others">{t("connect.others")}</h2>
      <p className="muted">{t("connect.othersHint")}</p>
      <ul>
        {faces.map((one) => (
          <li key={one.face}>
            <div className="snippet-head">
              <h3>{one.name}</h3>
              <CopyButton text={one.yaml} />
            </div>
            <pre>
              <code>{one.yaml.trimEnd()}</code>
            </pre>
          </li>
        ))}
      </ul>
    </section>
  );
}
