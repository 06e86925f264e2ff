/** JSON is indented; other text stays as it is. */
export function Code({ title, text }: { title: string; text: string }) {
  return (
    <div className="code">
      <span className="code-title">{title}</span>
      <pre>
        <code>{indent(text)}</code>
      </pre>
    </div>
  );
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
