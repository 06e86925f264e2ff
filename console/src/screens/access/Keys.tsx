import { useState, type FormEvent } from "react";
import { useFormat } from "../../format";
import { Copyable } from "../../parts/Copyable";
import { showToast } from "../../parts/toasts";
import { useChangeKey, useCreateKey, type AccessAnswer, type Change, type KeyLine, type MadeKey } from "./api";
import { KeyDialog } from "./KeyDialog";
import { useAccessWords } from "./words";

/** A secret that is shown once, until it is closed. */
interface Shown extends MadeKey {
  isRotated: boolean;
}

/** The API keys, with what the signed-in user may change. */
export function Keys({ access }: { access: AccessAnswer }) {
  const t = useAccessWords();
  const [shown, setShown] = useState<Shown | null>(null);
  const [asked, setAsked] = useState<{ line: KeyLine; change: "rotate" | "revoke" } | null>(null);
  const change = useChangeKey();
  const { keys, jwt, oidc, own_key } = access;

  function apply(name: string, kind: Change) {
    const onError = (error: Error) => showToast(error.message, { isProblem: true });
    const onSuccess = (made: MadeKey | null) => {
      if (made) setShown({ ...made, isRotated: true });
      else if (kind === "restore") showToast(t("access.restored", { name }));
      else if (name !== own_key) showToast(t("access.revoked", { name }), { undo: () => apply(name, "restore") });
    };
    change.mutate({ name, change: kind }, { onError, onSuccess });
  }

  function choose(line: KeyLine, kind: Change) {
    if (kind === "restore") apply(line.name, kind);
    else setAsked({ line, change: kind });
  }

  return (
    <section aria-labelledby="access-keys">
      <h2 id="access-keys">{t("access.keys")}</h2>
      {!access.required && (
        <p>
          {t("access.open")} {t(access.is_local ? "access.open.local" : "access.open.network")}
        </p>
      )}
      {keys.length > 0 && <KeyTable keys={keys} onChange={access.can_change ? choose : undefined} />}
      {asked && (
        <KeyDialog
          line={asked.line}
          change={asked.change}
          isOwn={asked.line.name === own_key}
          onConfirm={() => apply(asked.line.name, asked.change)}
          onClose={() => setAsked(null)}
        />
      )}
      {shown && <Secret shown={shown} onClose={() => setShown(null)} />}
      {jwt && (
        <p>
          <strong>{t("access.tokens")}</strong> {t("access.issuer", jwt)}
        </p>
      )}
      {oidc && (
        <p>
          <strong>{t("access.signIn")}</strong> {t("access.provider", oidc)}
        </p>
      )}
      <h3>{t("access.new")}</h3>
      {access.can_change ? (
        <NewKeyForm onMade={(made) => setShown({ ...made, isRotated: false })} />
      ) : (
        <Command access={access} />
      )}
    </section>
  );
}

function Command({ access }: { access: AccessAnswer }) {
  const t = useAccessWords();
  const place = access.has_store ? `--store --config ${access.file}` : `--file ${access.file}`;
  return (
    <>
      <Copyable title={t("access.command")} text={`rightseat keys new NAME ${place}`} />
      <p className="muted">{t(access.has_store ? "access.new.store" : "access.new.hint")}</p>
    </>
  );
}

function Secret({ shown, onClose }: { shown: Shown; onClose: () => void }) {
  const t = useAccessWords();
  return (
    <div className="secret" role="status">
      <Copyable title={t("access.made", { name: shown.line.name })} text={shown.key} testId="new-key" />
      <p className="muted">{t(shown.isRotated ? "access.rotated.hint" : "access.made.hint")}</p>
      <button type="button" className="button" onClick={onClose}>
        {t("access.done")}
      </button>
    </div>
  );
}

type Choose = (line: KeyLine, change: Change) => void;

function KeyTable({ keys, onChange }: { keys: KeyLine[]; onChange?: Choose | undefined }) {
  const t = useAccessWords();
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("access.name")}</th>
          <th scope="col">{t("access.prefix")}</th>
          <th scope="col">{t("access.user")}</th>
          <th scope="col">{t("access.scopes")}</th>
          <th scope="col">{t("access.state")}</th>
          <th scope="col">{t("access.expires")}</th>
          <th scope="col">{t("access.lastUsed")}</th>
          {onChange && <th scope="col">{t("access.actions")}</th>}
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={`${key.in} ${key.name}`} line={key} onChange={onChange} />
        ))}
      </tbody>
    </table>
  );
}

function KeyRow({ line, onChange }: { line: KeyLine; onChange?: Choose | undefined }) {
  const t = useAccessWords();
  const format = useFormat();
  const showTime = (time: string | null) => (time ? format.full(time) : t("access.never"));
  const isStored = line.in === "store";
  return (
    <tr data-testid="key" data-name={line.name} data-state={line.state}>
      <th scope="row">
        {line.name} {!isStored && <span className="chip">{t("access.inFile")}</span>}
      </th>
      <td data-label={t("access.prefix")} className="long">
        {line.prefix ? <code>rs_{line.prefix}_…</code> : t("access.ownSecret")}
      </td>
      <td data-label={t("access.user")}>{line.user}</td>
      <td data-label={t("access.scopes")} className="long">
        <code>{line.scopes.join(" ")}</code>
      </td>
      <td data-label={t("access.state")}>{t(`access.state.${line.state}`)}</td>
      <td data-label={t("access.expires")}>{showTime(line.expires_at)}</td>
      <td data-label={t("access.lastUsed")}>{showTime(line.last_used_at)}</td>
      {onChange && (
        <td data-label={t("access.actions")}>
          <Actions line={line} onChange={onChange} />
        </td>
      )}
    </tr>
  );
}

function Actions({ line, onChange }: { line: KeyLine; onChange: Choose }) {
  const t = useAccessWords();
  const { name } = line;
  const isRevoked = line.state === "revoked";
  return (
    <div className="actions">
      {line.in === "store" && line.state === "active" && (
        <button
          type="button"
          className="button"
          aria-label={t("access.rotateNamed", { name })}
          onClick={() => onChange(line, "rotate")}
        >
          {t("access.rotate")}
        </button>
      )}
      <button
        type="button"
        className={isRevoked ? "button" : "button danger"}
        aria-label={t(isRevoked ? "access.restoreNamed" : "access.revokeNamed", { name })}
        onClick={() => onChange(line, isRevoked ? "restore" : "revoke")}
      >
        {t(isRevoked ? "access.restore" : "access.revoke")}
      </button>
    </div>
  );
}

function NewKeyForm({ onMade }: { onMade: (made: MadeKey) => void }) {
  const t = useAccessWords();
  const create = useCreateKey();
  const [name, setName] = useState("");
  const [user, setUser] = useState("");
  const [scopes, setScopes] = useState("*");
  const [days, setDays] = useState("");

  function submit(event: FormEvent) {
    event.preventDefault();
    const named = scopes.split(/\s+/).filter((scope) => scope !== "");
    const body = {
      name: name.trim(),
      ...(user.trim() === "" ? {} : { user: user.trim() }),
      ...(named.length === 0 ? {} : { scopes: named }),
      ...(Number(days) > 0 ? { expires_days: Number(days) } : {}),
    };
    const onSuccess = (made: MadeKey) => {
      onMade(made);
      setName("");
    };
    create.mutate(body, { onSuccess });
  }

  const fields = [
    { id: "key-name", label: t("access.form.name"), value: name, set: setName },
    { id: "key-user", label: t("access.form.user"), value: user, set: setUser },
    { id: "key-scopes", label: t("access.form.scopes"), value: scopes, set: setScopes },
    { id: "key-days", label: t("access.form.days"), value: days, set: setDays, type: "number" },
  ];
  return (
    <form className="new-key" onSubmit={submit}>
      {fields.map(({ id, label, value, set, type = "text" }) => (
        <div key={id}>
          <label htmlFor={id}>{label}</label>
          <input
            id={id}
            type={type}
            min={type === "number" ? 1 : undefined}
            className="field"
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => set(event.target.value)}
          />
        </div>
      ))}
      {create.isError && (
        <p className="problem" role="alert">
          {create.error.message}
        </p>
      )}
      <button type="submit" className="button primary" disabled={name.trim() === "" || create.isPending}>
        {t("access.form.submit")}
      </button>
    </form>
  );
}
