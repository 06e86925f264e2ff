import { useState, type FormEvent } from "react";
import { Dialog } from "../../parts/Dialog";
import { DialogButtons, NameField } from "./NameField";
import { flowPath, flowText, NAME } from "./newFile";
import { useCreatePlugin } from "./useCreatePlugin";
import { useWorkbenchWords } from "./words";

interface Props {
  plugin: string | null;
  paths: string[];
  canSave: boolean;
  onFlow: (path: string, text: string) => void;
  onPlugin: (id: string) => void;
  onClose: () => void;
}

/** A flow begins as a draft, a plugin is created at once. */
export function NewDialog({ plugin, paths, canSave, onFlow, onPlugin, onClose }: Props) {
  const t = useWorkbenchWords();
  const create = useCreatePlugin();
  const [kind, setKind] = useState<"flow" | "plugin">(plugin === null ? "plugin" : "flow");
  const [name, setName] = useState("");
  const path = flowPath(name);
  const isTaken = kind === "flow" && paths.includes(path);
  const labels = { flow: t("new.kind.flow", { plugin: plugin ?? "" }), plugin: t("new.kind.plugin") };

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!NAME.test(name) || isTaken) return;
    if (kind === "flow") onFlow(path, flowText(name));
    else create.mutate({ id: name }, { onSuccess: () => onPlugin(name) });
  }

  return (
    <Dialog title={t("new.title")} onClose={onClose}>
      <form onSubmit={submit}>
        {plugin !== null && canSave && (
          <fieldset>
            <legend>{t("new.kind")}</legend>
            {(["flow", "plugin"] as const).map((one) => (
              <label key={one} className="choice">
                <input type="radio" name="kind" checked={kind === one} onChange={() => setKind(one)} />
                {labels[one]}
              </label>
            ))}
          </fieldset>
        )}
        <NameField value={name} onChange={setName} />
        {isTaken && (
          <p className="problem" role="alert">
            {t("new.taken", { path })}
          </p>
        )}
        <p className="hint muted">
          {kind === "flow" ? t("new.flowHint", { path: flowPath(name || "NAME") }) : t("new.pluginHint")}
        </p>
        <DialogButtons
          isReady={NAME.test(name) && !isTaken && !create.isPending}
          error={create.error}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}
