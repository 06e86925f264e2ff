import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Suspense, useState, type FormEvent } from "react";
import { ApiError, knownProvider, signIn } from "../../api/client";
import { lazyPart } from "../../loadChunk";
import { useFilters } from "../../location";
import { Logo } from "../../parts/Logo";
import { useWords } from "../../words";
import { leaveForProvider } from "./returnAddress";
import "./signin.css";

const Problem = lazyPart(() => import("./Problem"));

/**
 * A key is sent once, and exchanged for a cookie that scripts cannot read. With an identity provider the browser leaves
 * the page, and comes back with the cookie, or with a problem in the address.
 */
export function SignIn() {
  const t = useWords();
  const queries = useQueryClient();
  const [key, setKey] = useState("");
  const [{ problem }] = useFilters<"problem">();
  const provider = knownProvider();
  const enter = useMutation({
    mutationFn: () => signIn(key.trim()),
    onSuccess: () => queries.resetQueries(),
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    enter.mutate();
  }

  const isRefused = enter.error instanceof ApiError && enter.error.status === 401;
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <Logo />
        <h1>{t("signIn.title")}</h1>
        {provider && (
          <>
            <Suspense>{problem && <Problem problem={problem} name={provider.name} />}</Suspense>
            <button type="button" className="button primary" onClick={() => leaveForProvider(provider.url)}>
              {t("signIn.with", { name: provider.name })}
            </button>
            <p className="muted or">{t("signIn.or")}</p>
          </>
        )}
        <p className="muted">{t("signIn.hint")}</p>
        <label htmlFor="key">{t("signIn.key")}</label>
        <input
          id="key"
          type="text"
          className="field key"
          autoComplete="off"
          spellCheck={false}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        {enter.isError && (
          <p className="problem" role="alert">
            {isRefused ? t("signIn.wrong") : t("error.unreachable")}
          </p>
        )}
        <button
          type="submit"
          className={provider ? "button" : "button primary"}
          disabled={key.trim() === "" || enter.isPending}
        >
          {enter.isPending ? t("signIn.busy") : t("signIn.submit")}
        </button>
      </form>
    </main>
  );
}
