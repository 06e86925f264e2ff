import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { Copyable } from "../../parts/Copyable";
import { readSetupCode } from "../../setupCode";
import { ProposedFile } from "./ProposedFile";
import { describeChoice, type ModelChoice } from "./choices";
import { getChoices, waitForRestart, writeChoice, type Chosen } from "./setup";
import { useHealthWords } from "./words";
import "./setup.css";

/** A server without a configuration file: choose a model, see the file, have it written. */
export function FirstSteps({ file }: { file: string }) {
  const t = useHealthWords();
  return (
    <section className="first-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">{t("setup.title")}</h2>
      <p className="muted">{t("setup.intro")}</p>
      {readSetupCode() ? <Choices file={file} /> : <WithoutCode />}
    </section>
  );
}

function WithoutCode() {
  const t = useHealthWords();
  return (
    <>
      <p>{t("setup.noCode")}</p>
      <Copyable title={t("setup.command")} text="rightseat init" />
    </>
  );
}

function Choices({ file }: { file: string }) {
  const t = useHealthWords();
  const queries = useQueryClient();
  const found = useQuery({ queryKey: ["setup"], queryFn: getChoices, staleTime: Infinity, retry: false });
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const writing = useMutation({
    mutationFn: async (choice: Chosen) => {
      await writeChoice(choice);
      if (!(await waitForRestart())) throw new Error(t("setup.late"));
      await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "setup" }); // it is over
    },
  });
  const choice = found.data?.choices.find((one) => one.id === chosen?.choice);
  if (writing.isSuccess) return <Done />;
  if (found.error) return <Problem error={found.error} />;
  return (
    <>
      <fieldset className="setup-choices" disabled={writing.isPending}>
        <legend className="visually-hidden">{t("setup.choices")}</legend>
        {found.data?.choices.map((one) => (
          <ChoiceRow
            key={one.id}
            choice={one}
            isChosen={one.id === chosen?.choice}
            onChoose={() => setChosen({ choice: one.id, model: one.models[0] ?? "" })}
          />
        ))}
      </fieldset>
      {choice && chosen && (
        <ProposedFile
          key={choice.id}
          file={file}
          choice={choice}
          chosen={chosen}
          onChange={(change) => setChosen({ ...chosen, ...change })}
          onWrite={() => writing.mutate(chosen)}
          isWriting={writing.isPending}
        />
      )}
      {writing.error && <Problem error={writing.error} />}
    </>
  );
}

function Problem({ error }: { error: Error }) {
  return (
    <p className="problem" role="alert">
      {error.message}
    </p>
  );
}

function Done() {
  const t = useHealthWords();
  return (
    <p role="status">
      {t("setup.done")} <Link to="/chat">{t("setup.chat")}</Link>
    </p>
  );
}

interface RowProps {
  choice: ModelChoice;
  isChosen: boolean;
  onChoose: () => void;
}

function ChoiceRow({ choice, isChosen, onChoose }: RowProps) {
  const t = useHealthWords();
  const { title, detail } = describeChoice(t, choice);
  const isMissing = choice.id === "gguf" && !choice.is_found;
  return (
    <label className="setup-choice">
      <input type="radio" name="setup-choice" checked={isChosen} disabled={isMissing} onChange={onChoose} />
      <span>
        <strong>{title}</strong>{" "}
        {choice.is_found && (
          <span className="state-chip" data-state="done">
            {t(choice.variable ? "setup.keyFound" : "setup.found")}
          </span>
        )}
        <span className="muted setup-detail">{detail}</span>
      </span>
    </label>
  );
}
