import "./chart.css";

/** Numbers over all of a period, each with its name. */
export function Totals({ values }: { values: [name: string, value: string][] }) {
  return (
    <dl className="metric-totals">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
