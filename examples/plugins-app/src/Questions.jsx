// What a flow asks a person: may it do this, what is missing, what became of it. The schema of the answer says which.
import { useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";

export function Questions() {
  useInterrupt({
    render: ({ interrupt, resolve, cancel }) => {
      if (!interrupt) return null;
      const { reason, message, responseSchema } = interrupt;
      if (reason === "approval_required") return <Approval message={message} resolve={resolve} />;
      if (reason === "outcome_unknown") return <Choice message={message} choices={responseSchema.enum} resolve={resolve} />;
      return <Form message={message} schema={responseSchema} resolve={resolve} cancel={cancel} />;
    },
  });
  return null;
}

function Message({ text }) {
  const [title, ...lines] = text.split("\n");
  return (
    <>
      <h3>{title}</h3>
      <ul>{lines.map((line) => <li key={line}>{line.replace(/^- /, "")}</li>)}</ul>
    </>
  );
}

function Approval({ message, resolve }) {
  return (
    <section className="question" data-testid="question">
      <Message text={message} />
      <div className="answers">
        <button className="yes" onClick={() => resolve({ decision: "allow" })}>Allow once</button>
        <button onClick={() => resolve({ decision: "deny" })}>Do not allow</button>
      </div>
    </section>
  );
}

function Choice({ message, choices, resolve }) {
  return (
    <section className="question" data-testid="question">
      <Message text={message} />
      <div className="answers">
        {choices.map((choice) => <button key={choice} onClick={() => resolve(choice)}>{choice}</button>)}
      </div>
    </section>
  );
}

function Form({ message, schema, resolve, cancel }) {
  const [values, setValues] = useState({});
  const fields = Object.entries(schema?.properties ?? {});

  function send(event) {
    event.preventDefault();
    resolve(Object.fromEntries(Object.entries(values).map(([name, text]) => [name, read(text, schema.properties[name])])));
  }

  return (
    <form className="question" data-testid="question" onSubmit={send}>
      <Message text={message} />
      {fields.map(([name, field]) => (
        <label key={name}>
          {field.title ?? name}
          <input
            name={name}
            required={schema.required?.includes(name)}
            placeholder={field.description}
            onChange={(event) => setValues({ ...values, [name]: event.target.value })}
          />
        </label>
      ))}
      <div className="answers">
        <button className="yes">Send</button>
        <button type="button" onClick={() => cancel()}>Stop</button>
      </div>
    </form>
  );
}

function read(text, { type } = {}) {
  const types = [type].flat();
  if (types.includes("integer") || types.includes("number")) return Number(text);
  if (types.includes("boolean")) return text === "true";
  return text;
}
