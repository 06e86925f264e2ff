import { useLiveSnapshot } from "../log/LiveProvider";
import { useWords } from "../words";

/** Whether events arrive, in words. */
export function Connection() {
  const t = useWords();
  const { connection } = useLiveSnapshot();
  return (
    <p className="connection" role="status" data-testid="connection" data-state={connection}>
      <span className="dot" aria-hidden="true" />
      {t(`connection.${connection}`)}
    </p>
  );
}
