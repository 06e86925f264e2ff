import { Link, useLocation } from "wouter";
import { Header } from "../../parts/Header";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";

/** The title, and the choice between threads and runs. */
export function ListHeader() {
  const t = useWords();
  const [path] = useLocation();
  const current = (to: string) => (path === to ? "page" : undefined);
  return (
    <Header title={t("nav.threads")}>
      <div className="segments">
        <Link to="/threads" aria-current={current("/threads")}>
          {t("threads.title")}
        </Link>
        <Link to="/runs" aria-current={current("/runs")}>
          {t("runs.title")}
        </Link>
      </div>
      <Link to="/chat" className="button new-thread">
        <Icon name="plus" />
        <span>{t("chat.newThread")}</span>
      </Link>
    </Header>
  );
}
