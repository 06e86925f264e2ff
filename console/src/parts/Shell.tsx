import { Suspense, useEffect, useState, type ReactNode } from "react";
import { useFailures, useWaiting } from "../api/queries";
import type { Me } from "../api/types";
import { lazyPart } from "../loadChunk";
import { useRangeQuery } from "../range";
import { useWords } from "../words";
import { Account } from "./Account";
import { Connection } from "./Connection";
import { Icon } from "./Icon";
import { Logo } from "./Logo";
import { MoreLinks } from "./MoreLinks";
import { shortcutOf } from "./palette/shortcut";
import { NavLink } from "./NavLink";
import { Toasts } from "./Toasts";
import "./shell.css";

const Palette = lazyPart(() => import("./palette/Palette"));

/** The window of what fails now. */
const NOW = "15m";

/** The navigation beside the screen; on a phone it is a bar below it. */
export function Shell({ me, children }: { me: Me; children: ReactNode }) {
  const t = useWords();
  const waiting = useWaiting();
  const query = useRangeQuery();
  const isFailing = (useFailures(NOW).data?.groups ?? []).length > 0;
  const [palette, setPalette] = useState<"find" | "keys" | null>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const wanted = shortcutOf(event);
      if (wanted === null) return;
      event.preventDefault();
      setPalette(wanted);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <div className="shell">
      <button type="button" className="skip-link" onClick={() => document.getElementById("main")?.focus()}>
        {t("nav.skip")}
      </button>
      <div className="sidebar">
        <header className="brand">
          <Logo />
          rightseat
        </header>
        <nav aria-label={t("nav.main")}>
          <NavLink to="/chat" alsoFor="/threads/" icon={<Icon name="chat" />}>
            {t("nav.chat")}
          </NavLink>
          <NavLink to="/threads" alsoFor="/runs" icon={<Icon name="list" />}>
            <span className="long">{t("nav.threads")}</span>
            <span className="short" aria-hidden="true">
              {t("nav.threadsShort")}
            </span>
          </NavLink>
          <NavLink to="/approvals" icon={<Icon name="approvals" />}>
            {t("nav.approvals")}
            <span
              className="count"
              data-testid="approvals-count"
              data-value={waiting}
              hidden={waiting === 0}
              aria-label={t("nav.waiting", { count: waiting })}
            >
              {waiting}
            </span>
          </NavLink>
          <MoreLinks>
            <NavGroup name={t("nav.build")}>
              <NavLink to="/flows" alsoFor="/flows/" icon={<Icon name="flow" />}>
                {t("nav.flows")}
              </NavLink>
              <NavLink to="/plugins" alsoFor="/plugins/" icon={<Icon name="plugin" />}>
                {t("nav.plugins")}
              </NavLink>
              {me.rights.read?.includes("*") && (
                <NavLink to="/cases" icon={<Icon name="cases" />}>
                  {t("nav.cases")}
                </NavLink>
              )}
              <NavLink to="/connect" alsoFor="/connect/" icon={<Icon name="connect" />}>
                {t("nav.connect")}
              </NavLink>
            </NavGroup>
            <NavGroup name={t("nav.operate")}>
              {me.rights.watch && (
                <>
                  <NavLink to="/health" query={query} icon={<Icon name="health" />}>
                    {t("nav.health")}
                    {isFailing && (
                      <span className="failing" data-testid="failing" role="img" aria-label={t("nav.failing")} />
                    )}
                  </NavLink>
                  <NavLink to="/metrics" query={query} icon={<Icon name="metrics" />}>
                    {t("nav.metrics")}
                  </NavLink>
                </>
              )}
              <NavLink to="/memories" icon={<Icon name="model" />}>
                {t("nav.memories")}
              </NavLink>
              <NavLink to="/usage" query={query} icon={<Icon name="usage" />}>
                {t("nav.usage")}
              </NavLink>
              {me.rights.watch && (
                <NavLink to="/access" icon={<Icon name="key" />}>
                  {t("nav.access")}
                </NavLink>
              )}
            </NavGroup>
            <NavLink to="/settings" icon={<Icon name="settings" />} className="on-phones">
              {t("nav.settings")}
            </NavLink>
          </MoreLinks>
        </nav>
        <footer>
          <Connection />
          <Account me={me} />
        </footer>
      </div>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {palette !== null && (
        <Suspense fallback={null}>
          <Palette mode={palette} me={me} onClose={() => setPalette(null)} />
        </Suspense>
      )}
      <Toasts />
    </div>
  );
}

function NavGroup({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div role="group" aria-label={name} className="nav-group">
      <span aria-hidden="true">{name}</span>
      {children}
    </div>
  );
}
