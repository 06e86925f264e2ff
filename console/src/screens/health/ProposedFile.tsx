import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { Copyable } from "../../parts/Copyable";
import { OTHER, type ModelChoice } from "./choices";
import { checkChoice, type Chosen } from "./setup";
import { useHealthWords } from "./words";

interface Props {
  file: string;
  choice: ModelChoice;
  chosen: Chosen;
  onChange: (change: Partial<Chosen>) => void;
  onWrite: () => void;
  isWriting: boolean;
}

/** The file of a choice, how its model answered, and the button that writes it. */
export function ProposedFile({ file, choice, chosen, onChange, onWrite, isWriting }: Props) {
  const t = useHealthWords();
  const isOther = choice.id === OTHER;
  const isComplete = !isOther || (chosen.model !== "" && (chosen.base_url ?? "") !== "");
  const proposal = useQuery({
    queryKey: ["setup", chosen],
    queryFn: () => checkChoice(chosen, false),
    enabled: isComplete,
    staleTime: Infinity,
    retry: false,
    placeholderData: (previous) => previous, // the old file until the new one is there
  });
  const lacksKey = choice.variable !== undefined && !choice.is_found;
  return (
    <div className="proposed">
      <div>
        {isOther && (
          <TextField
            label={t("setup.address")}
            placeholder={t("setup.address.example")}
            value={chosen.base_url ?? ""}
            onValue={(url) => onChange({ base_url: url })}
          />
        )}
        {choice.id !== "demo" && (
          <ModelField choice={choice} model={chosen.model} onModel={(model) => onChange({ model })} />
        )}
        {isOther && (
          <TextField
            label={t("setup.variable")}
            placeholder="GROQ_API_KEY"
            value={chosen.variable ?? ""}
            onValue={(variable) => onChange({ variable })}
          />
        )}
        {isComplete && proposal.data && (
          <Copyable title={t("setup.file", { file })} text={proposal.data.text} testId="setup-file" />
        )}
        {proposal.error && (
          <p className="problem" role="alert">
            {proposal.error.message}
          </p>
        )}
      </div>
      <div className="setup-side">
        {lacksKey ? (
          <>
            <Copyable title={t("health.command")} text={`export ${choice.variable ?? ""}=…`} />
            <p className="muted">{t("setup.unset")}</p>
          </>
        ) : (
          <>
            {choice.id !== "demo" && isComplete && !proposal.error && <Trial chosen={chosen} />}
            <p className="muted">{t("setup.note")}</p>
            <p>
              <button
                type="button"
                className="button primary"
                aria-disabled={isWriting || !isComplete}
                onClick={() => isWriting || !isComplete || onWrite()}
              >
                {t("setup.write")}
              </button>
            </p>
            <p role="status">{isWriting && t("setup.restarting")}</p>
          </>
        )}
      </div>
    </div>
  );
}

interface FieldProps {
  choice: ModelChoice;
  model: string;
  onModel: (model: string) => void;
}

/** A name that was typed counts when the field is left. */
function ModelField({ choice, model, onModel }: FieldProps) {
  const t = useHealthWords();
  const list = useId();
  if (choice.id === "gguf") {
    return (
      <label className="setup-model">
        {t("setup.model")}
        <select className="field" value={model} onChange={(event) => onModel(event.target.value)}>
          {choice.models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <label className="setup-model">
      {t("setup.model")}
      <input
        className="field"
        list={list}
        defaultValue={model}
        onBlur={(event) => onModel(event.target.value.trim() || model)}
      />
      <datalist id={list}>
        {choice.models.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

interface TextProps {
  label: string;
  placeholder: string;
  value: string;
  onValue: (value: string) => void;
}

/** It counts when the field is left. */
function TextField({ label, placeholder, value, onValue }: TextProps) {
  return (
    <label className="setup-model">
      {label}
      <input
        className="field"
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        defaultValue={value}
        onBlur={(event) => onValue(event.target.value.trim())}
      />
    </label>
  );
}

function Trial({ chosen }: { chosen: Chosen }) {
  const t = useHealthWords();
  const { data, error, isFetching } = useQuery({
    queryKey: ["setup", "trial", chosen],
    queryFn: () => checkChoice(chosen, true),
    staleTime: 60_000,
    retry: false,
  });
  const tried = data?.tried;
  return (
    <div className="trial" role="status">
      <strong>{t("setup.trial")}</strong>
      {isFetching && <p className="muted">{t("setup.trying")}</p>}
      {tried && (
        <p className="trial-result" data-state={tried.state} lang="en">
          <span className="dot" /> {tried.detail} {tried.state !== "fine" && tried.fix?.text}
        </p>
      )}
      {error && <p className="problem">{error.message}</p>}
    </div>
  );
}
