import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { ApiError, signIn } from "../../api/client";
import { Logo } from "../../parts/Logo";
import { useWords } from "../../words";
import "./signin.css";

/** The key is sent once, and exchanged for a cookie that scripts cannot read. */
export function SignIn() {
  const t = useWords();
  const queries = useQueryClient();
  const [key, setKey] = useState("");
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
        <button type="submit" className="button primary" disabled={key.trim() === "" || enter.isPending}>
          {enter.isPending ? t("signIn.busy") : t("signIn.submit")}
        </button>
      </form>
    </main>
  );
}
