import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";
import { useAccess, useAudit, type AccessAnswer } from "./api";
import { Keys } from "./Keys";
import { useAccessWords } from "./words";
import "./access.css";

/** Who may use the server, and what operators did. */
export default function Access() {
  const t = useAccessWords();
  useShownThread(null);
  const isAllowed = useMe().data?.rights.watch?.includes("*") ?? false;
  return isAllowed ? <AccessPage /> : <Notice text={t("access.notAllowed")} />;
}

function AccessPage() {
  const t = useAccessWords();
  const shared = useWords();
  const { data: access, isError, refetch } = useAccess();
  if (isError) return <Notice text={shared("error.unreachable")} onRetry={() => void refetch()} />;
  return (
    <>
      <Header title={t("access.title")} />
      <div className="page access">
        {access && <Keys access={access} />}
        {access && <Pages access={access} />}
        <Audit />
      </div>
    </>
  );
}

function Pages({ access }: { access: AccessAnswer }) {
  const t = useAccessWords();
  const isAnyLocal = access.origins === null && access.is_local;
  const listed = access.origins?.join(", ");
  return (
    <section aria-labelledby="access-pages">
      <h2 id="access-pages">{t("access.pages")}</h2>
      <p>{listed || t(isAnyLocal ? "access.pages.local" : "access.pages.none")}</p>
    </section>
  );
}

function Audit() {
  const t = useAccessWords();
  const format = useFormat();
  const { data, isSuccess } = useAudit();
  return (
    <section aria-labelledby="access-audit">
      <h2 id="access-audit">{t("access.audit")}</h2>
      {isSuccess && data.lines.length === 0 && <p className="muted">{t("access.audit.none")}</p>}
      {isSuccess && data.lines.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">{t("access.at")}</th>
              <th scope="col">{t("access.line")}</th>
            </tr>
          </thead>
          <tbody>
            {data.lines.map((line, index) => (
              <tr key={index}>
                <td>{format.full(line.at)}</td>
                <td lang="en">{line.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
