import { useId, useState, type FormEvent } from "react";
import { Dialog } from "../../parts/Dialog";
import { Icon } from "../../parts/Icon";
import { DialogButtons, NameField } from "./NameField";
import { NAME } from "./newFile";
import { useCreatePlugin } from "./useCreatePlugin";
import { useWorkbenchWords } from "./words";

interface Props {
  onPlugin: (id: string) => void;
  onClose: () => void;
}

/** A plugin from a document that is pasted or read from a file of this computer. */
export function ImportDialog({ onPlugin, onClose }: Props) {
  const t = useWorkbenchWords();
  const create = useCreatePlugin();
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const id = useId();

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!NAME.test(name) || text.trim() === "") return;
    create.mutate(
      { id: name, openapi: text },
      { onSuccess: ({ advice }) => (advice.length === 0 ? onPlugin(name) : undefined) },
    );
  }

  if (create.data && create.data.advice.length > 0)
    return <Advice advice={create.data.advice} name={name} onOpen={() => onPlugin(name)} />;
  return (
    <Dialog title={t("import.title")} onClose={onClose}>
      <form onSubmit={submit}>
        <NameField value={name} onChange={setName} />
        <div>
          <label className="label" htmlFor={id}>
            {t("import.document")}
          </label>
          <textarea
            id={id}
            className="field"
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
        <label className="button choose-file">
          <Icon name="file" />
          {t("import.file")}
          <input
            className="visually-hidden"
            type="file"
            accept=".json,.yaml,.yml"
            onChange={(event) => void event.target.files?.[0]?.text().then(setText)}
          />
        </label>
        <p className="hint muted">{t("import.hint")}</p>
        <DialogButtons
          isReady={NAME.test(name) && text.trim() !== "" && !create.isPending}
          error={create.error}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

/** What `rightseat plugin import-openapi` prints. The plugin is there; so closing the dialog opens it, too. */
function Advice({ advice, name, onOpen }: { advice: string[]; name: string; onOpen: () => void }) {
  const t = useWorkbenchWords();
  return (
    <Dialog title={t("import.created", { plugin: name })} onClose={onOpen}>
      <p>{t("import.advice")}</p>
      <ul className="advice" data-testid="advice">
        {advice.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <div className="dialog-buttons">
        <button type="button" className="button primary" onClick={onOpen}>
          {t("import.open")}
        </button>
      </div>
    </Dialog>
  );
}
