import { useState } from "react";
import { Icon } from "../../parts/Icon";
import { ImportDialog } from "./ImportDialog";
import { NewDialog } from "./NewDialog";
import { useWorkbenchWords } from "./words";

interface Props {
  /** Into which a new flow goes; null if there is none. */
  plugin: string | null;
  /** Paths that the plugin has, also as drafts. */
  paths: string[];
  /** Drafts need no right to save; plugins do. */
  canSave: boolean;
  onFlow: (path: string, text: string) => void;
  onPlugin: (id: string) => void;
}

/** Creates flows and plugins. */
export function NewButtons({ plugin, paths, canSave, onFlow, onPlugin }: Props) {
  const t = useWorkbenchWords();
  const [open, setOpen] = useState<"new" | "import" | null>(null);
  const close = () => setOpen(null);
  const finish = (id: string) => {
    close();
    onPlugin(id);
  };

  return (
    <>
      {(canSave || plugin !== null) && (
        <button type="button" className="button" onClick={() => setOpen("new")}>
          <Icon name="plus" />
          {t("new.button")}
        </button>
      )}
      {canSave && (
        <button type="button" className="button" onClick={() => setOpen("import")}>
          <Icon name="plus" />
          {t("import.button")}
        </button>
      )}
      {open === "new" && (
        <NewDialog
          plugin={plugin}
          paths={paths}
          canSave={canSave}
          onFlow={(path, text) => {
            close();
            onFlow(path, text);
          }}
          onPlugin={finish}
          onClose={close}
        />
      )}
      {open === "import" && <ImportDialog onPlugin={finish} onClose={close} />}
    </>
  );
}
