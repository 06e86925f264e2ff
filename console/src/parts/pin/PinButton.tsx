import { Suspense, useState } from "react";
import { Link } from "wouter";
import { useMe } from "../../api/queries";
import { mayDo } from "../../api/rights";
import { lazyPart } from "../../loadChunk";
import { Icon } from "../Icon";
import { useCasesWords } from "./words";

const PinDialog = lazyPart(() => import("./PinDialog"));

interface Props {
  run: string;
  agent: string;
  owner: string;
  /** What a person said should have happened. */
  wrong?: string;
  /** Without its text the button has an icon only. */
  hasText?: boolean;
}

/** Makes a case of the run, for those who may author for its agent and read it, or runs it again with a change. */
export function PinButton({ run, agent, owner, wrong = "", hasText = false }: Props) {
  const t = useCasesWords();
  const me = useMe().data;
  const [isOpen, setIsOpen] = useState(false);
  const mayRead = mayDo(me, "read", agent);
  if (!(mayRead || owner === me?.user) || !mayDo(me, "author", agent)) return null;
  return (
    <>
      {mayRead && (
        <Link
          className={hasText ? "button" : "icon-button"}
          aria-label={t("pin.again")}
          title={t("pin.again")}
          to={`/runs/${encodeURIComponent(run)}/again`}
        >
          <Icon name="again" />
          {hasText && t("pin.again")}
        </Link>
      )}
      <button
        type="button"
        className={hasText ? "button" : "icon-button"}
        aria-label={t("pin.button")}
        title={t("pin.button")}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="pin" />
        {hasText && t("pin.button")}
      </button>
      {isOpen && (
        <Suspense fallback={null}>
          <PinDialog run={run} wrong={wrong} onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
