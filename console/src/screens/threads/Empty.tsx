import { Link, useLocation } from "wouter";
import { API_URL } from "../../api/client";
import { navigate } from "../../location";
import { useWords } from "../../words";

const QUESTION = JSON.stringify({ text: "Hello" });

/** What a list shows instead of rows: how the first one comes about, or that the filters leave none. */
export function Empty({ isFiltered }: { isFiltered: boolean }) {
  const t = useWords();
  const [path] = useLocation();
  if (isFiltered) {
    return (
      <div className="welcome">
        <h2>{t("list.noMatch")}</h2>
        <p className="muted">{t("list.noMatchHint")}</p>
        <button type="button" className="button" onClick={() => navigate(path, { replace: true })}>
          {t("list.clear")}
        </button>
      </div>
    );
  }
  return (
    <div className="welcome ways">
      <h2>{t("list.empty")}</h2>
      <p className="muted">{t("list.emptyHint")}</p>
      <ol>
        <li>
          <strong>{t("list.wayChat")}</strong>
          <Link to="/chat">{t("list.wayChatLink")}</Link>
        </li>
        <li>
          <strong>CopilotKit</strong>
          <code>{`<CopilotKit runtimeUrl="${new URL("../copilotkit", API_URL).href}">`}</code>
        </li>
        <li>
          <strong>curl</strong>
          <code>
            {`curl ${API_URL}agents/default/runs -H 'content-type: application/json' -H 'x-rightseat: 1' -d '${QUESTION}'`}
          </code>
        </li>
      </ol>
    </div>
  );
}
