import { Link } from "wouter";
import type { Me } from "../api/types";
import { useWords } from "../words";
import { SignOut } from "./SignOut";

/** The user, the settings and, where the server has keys, the way out. */
export function Account({ me }: { me: Me }) {
  const t = useWords();
  return (
    <div className="account">
      <span className="user">
        {me.user} <span className="version">{me.version}</span>
      </span>
      <Link to="/settings">{t("nav.settings")}</Link>
      {me.access === "keys" && <SignOut className="link" />}
    </div>
  );
}
