import { useWords } from "../../words";
import { optionText, type Field } from "./answers";

interface Props {
  id: string;
  field: Field;
  text: string;
  isInvalid: boolean;
  onChange: (text: string) => void;
}

export function FieldInput({ id, field, text, isInvalid, onChange }: Props) {
  const t = useWords();
  const shared = { id, "aria-describedby": `${id}-about`, "aria-invalid": isInvalid, required: field.isRequired };
  switch (field.kind) {
    case "boolean":
      return (
        <input
          {...shared}
          type="checkbox"
          required={false}
          checked={text === "true"}
          onChange={(event) => onChange(String(event.target.checked))}
        />
      );
    case "enum":
      return (
        <select {...shared} className="field" value={text} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t("question.choose")}</option>
          {field.options.map((option) => (
            <option key={optionText(option)}>{optionText(option)}</option>
          ))}
        </select>
      );
    case "json":
      return (
        <textarea
          {...shared}
          className="field json"
          rows={4}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    default:
      return (
        <input
          {...shared}
          type="text"
          className="field"
          inputMode={field.kind === "number" ? "decimal" : undefined}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
  }
}
