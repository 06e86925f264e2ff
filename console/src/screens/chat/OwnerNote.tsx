import type { ReactNode } from "react";
import { Icon } from "../../parts/Icon";
import { useWords } from "../../words";

interface Props {
  owner: string;
  isReadable: boolean;
  /** Of what the user did here for the owner. */
  error: Error | null;
  children: ReactNode;
}

/** Whose thread it is, if it is another user's, and what of it can be seen. */
export function OwnerNote({ owner, isReadable, error, children }: Props) {
  const t = useWords();
  return (
    <div className="owner-note" role="note">
      <Icon name="eye" />
      <p>
        {t(isReadable ? "chat.ofOther" : "chat.ofOtherNumbers", { owner })}
        {error && <span className="problem"> {error.message}</span>}
      </p>
      {children}
    </div>
  );
}
