import { useMe } from "../../api/queries";
import { useShownThread } from "../../log/LiveProvider";
import { Copyable } from "../../parts/Copyable";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useSettings } from "../../settings";
import { useWords } from "../../words";
import { useAccess, useAudit, type AccessAnswer } from "./api";
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

function Keys({ access }: { access: AccessAnswer }) {
  const t = useAccessWords();
  const { keys, jwt } = access;
  return (
    <section aria-labelledby="access-keys">
      <h2 id="access-keys">{t("access.keys")}</h2>
      {keys.length === 0 && jwt === null && (
        <p>
          {t("access.open")} {t(access.is_local ? "access.open.local" : "access.open.network")}
        </p>
      )}
      {keys.length > 0 && <KeyTable keys={keys} />}
      {jwt && (
        <p>
          <strong>{t("access.tokens")}</strong> {t("access.issuer", jwt)}
        </p>
      )}
      <h3>{t("access.new")}</h3>
      <Copyable title={t("access.command")} text={`rightseat keys new NAME --file ${access.file}`} />
      <p className="muted">{t("access.new.hint")}</p>
    </section>
  );
}

function KeyTable({ keys }: { keys: AccessAnswer["keys"] }) {
  const t = useAccessWords();
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("access.name")}</th>
          <th scope="col">{t("access.prefix")}</th>
          <th scope="col">{t("access.user")}</th>
          <th scope="col">{t("access.scopes")}</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.name} data-testid="key" data-name={key.name}>
            <th scope="row">{key.name}</th>
            <td>{key.prefix ? <code>rs_{key.prefix}_…</code> : t("access.ownSecret")}</td>
            <td>{key.user}</td>
            <td>
              <code>{key.scopes.join(" ")}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
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
  const { language } = useSettings();
  const { data, isSuccess } = useAudit();
  const format = new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "medium" });
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
                <td>{format.format(new Date(line.at))}</td>
                <td lang="en">{line.text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
