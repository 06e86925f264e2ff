import { useQuery } from "@tanstack/react-query";
import { runCases, type DraftFiles } from "../../api/plugins";
import { Icon } from "../../parts/Icon";
import { useWorkbenchWords } from "./words";

interface Props {
  plugin: string;
  files: DraftFiles;
  /** Opens the file of the cases, which there is not yet. */
  onBegin: (() => void) | null;
}

/** The test cases of the plugin, run over the draft when the tab is opened. */
export function Cases({ plugin, files, onBegin }: Props) {
  const t = useWorkbenchWords();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["cases", plugin, files],
    queryFn: () => runCases(plugin, files),
    refetchOnWindowFocus: false,
  });
  const passed = data?.filter((one) => one.passed).length ?? 0;
  return (
    <>
      <p className="cases-head">
        <span role="status">
          {isFetching
            ? t("cases.running")
            : data && data.length > 0
              ? t("cases.count", { passed, total: data.length })
              : ""}
        </span>
        <button type="button" className="button small" disabled={isFetching} onClick={() => void refetch()}>
          {t("cases.run")}
        </button>
      </p>
      {error && <p className="problem plain">{t("cases.failed", { message: error.message })}</p>}
      {data?.length === 0 && (
        <>
          <p className="muted">{t("cases.none")}</p>
          {onBegin && (
            <button type="button" className="button" onClick={onBegin}>
              {t("cases.begin")}
            </button>
          )}
        </>
      )}
      <ul className="cases">
        {data?.map((one) => {
          const state = one.passed ? "passed" : "failed";
          return (
            <li key={one.name} data-testid="case" data-state={state}>
              <p>
                <Icon name={one.passed ? "check" : "close"} />
                <span>{one.name}</span>
                <span className="state-chip" data-state={one.passed ? "done" : "failed"}>
                  {t(`cases.state.${state}`)}
                </span>
              </p>
              {one.differences.map((difference, index) => (
                <p key={index} className="difference plain">
                  {difference}
                </p>
              ))}
            </li>
          );
        })}
      </ul>
    </>
  );
}
