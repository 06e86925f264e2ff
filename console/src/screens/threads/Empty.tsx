import { Link, useLocation } from "wouter";
import { navigate } from "../../location";
import { useWords } from "../../words";

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
          <strong>{t("nav.connect")}</strong>
          <Link to="/connect">{t("list.wayConnectLink")}</Link>
        </li>
      </ol>
    </div>
  );
}
