import { Suspense, useState } from "react";
import type { DraftFiles, Problem } from "../../api/plugins";
import { lazyPart } from "../../loadChunk";
import { Tabs } from "../../parts/Tabs";
import { Cases } from "./Cases";
import { Problems } from "./Problems";
import { Try } from "./Try";
import type { Check } from "./useCheck";
import { useWorkbenchWords } from "./words";

const DraftGraph = lazyPart(() => import("./DraftGraph"));

const ALL = ["try", "graph", "problems", "cases"] as const;
type TabName = (typeof ALL)[number];

interface Props {
  plugin: string;
  path: string | null;
  files: DraftFiles;
  check: Check;
  problems: Problem[];
  isAuthor: boolean;
  onReplace: ((problem: Problem) => void) | null;
  onOpen: (file: string) => void;
  /** Opens a new file; null where it may not be made, or is there. */
  onBeginCases: ((flow: string) => void) | null;
}

/** What can be done with the draft. Who may only watch sees the problems. */
export function Panel({ plugin, path, files, check, problems, isAuthor, onReplace, onOpen, onBeginCases }: Props) {
  const t = useWorkbenchWords();
  const [chosen, setChosen] = useState<TabName>("try");
  const selected = isAuthor ? chosen : "problems";
  const flows = check.flows;
  const first = flows[0]?.graph.name;
  const graph = flows.find((flow) => flow.file !== "" && flow.file === path)?.graph;
  return (
    <section className="workbench-panel" aria-label={t("panel.name")}>
      <Tabs
        id="workbench"
        label={t("panel.name")}
        names={isAuthor ? ALL : (["problems"] as const)}
        selected={selected}
        onSelect={setChosen}
      >
        {(name) => (
          <>
            {t(`panel.tab.${name}`)}
            {name === "problems" && problems.length > 0 && (
              <span className="tab-count" aria-hidden="true">
                {problems.length}
              </span>
            )}
          </>
        )}
      </Tabs>
      <div id="workbench-body" className="workbench-tab" role="tabpanel" aria-labelledby={`workbench-tab-${selected}`}>
        {/* A dry run goes on while another tab is open. */}
        <div hidden={selected !== "try"}>
          {isAuthor && (
            <Try
              plugin={plugin}
              files={files}
              flows={flows.map((flow) => flow.graph.name)}
              current={graph?.name ?? null}
            />
          )}
        </div>
        {selected === "problems" && <Problems problems={problems} onReplace={onReplace} onOpen={onOpen} />}
        {selected === "cases" && (
          <Cases
            plugin={plugin}
            files={files}
            onBegin={onBeginCases && first ? () => onBeginCases(graph?.name ?? first) : null}
          />
        )}
        {selected === "graph" && !graph && <p className="muted">{t("graph.none")}</p>}
        {selected === "graph" && graph && (
          <Suspense fallback={null}>
            <DraftGraph plugin={plugin} graph={graph} note={check.isOld ? t("graph.old") : null} />
          </Suspense>
        )}
      </div>
    </section>
  );
}
