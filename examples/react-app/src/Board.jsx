// The board, drawn from the state that the page shares with the agent.
import { useAgent } from "@copilotkit/react-core/v2";
import { useEffect } from "react";
import { COLUMNS, FIRST_TASKS, TEAM } from "./tasks.js";

export function Board({ marked, onUnmark, onStartOver }) {
  const { agent } = useAgent();
  const tasks = agent.state?.tasks ?? FIRST_TASKS;

  // A new conversation begins with a new board. From then on the state is the thread's, and comes back with it.
  useEffect(() => {
    if (!agent.state?.tasks) agent.setState({ tasks: FIRST_TASKS });
  });

  return (
    <main className="page" data-running={agent.isRunning}>
      <header className="top">
        <img src="/icon.svg" alt="" width="36" height="36" />
        <div>
          <h1>Harbour 2.4</h1>
          <p>Release board</p>
        </div>
        <Progress tasks={tasks} />
        <div className="people">{TEAM.map((name) => <Person key={name} name={name} />)}</div>
        <button className="quiet" onClick={onStartOver}>Start over</button>
      </header>
      <p className="hint">
        {marked.length > 0 && (
          <button className="clear" onClick={onUnmark}>{marked.length} marked · clear</button>
        )}
      </p>
      <div className={`columns${marked.length ? " marking" : ""}`}>
        {Object.entries(COLUMNS).map(([column, name]) => (
          <Column key={column} id={column} name={name} tasks={tasks.filter((task) => task.column === column)} marked={marked} />
        ))}
      </div>
    </main>
  );
}

function Column({ id, name, tasks, marked }) {
  return (
    <section className="column" data-column={id} aria-label={name}>
      <h2>{name} <span>{tasks.length}</span></h2>
      {tasks.map((task) => <Card key={task.id} task={task} marked={marked.includes(task.id)} />)}
    </section>
  );
}

function Card({ task, marked }) {
  return (
    <article className="card" data-task={task.id} data-marked={marked}>
      <h3>{task.title}</h3>
      {task.blocked && task.column !== "done" && <p className="blocked">{task.blocked}</p>}
      <footer><span>{task.id}</span><Person name={task.owner} /></footer>
    </article>
  );
}

function Progress({ tasks }) {
  const done = tasks.filter((task) => task.column === "done").length;
  return (
    <div className="progress">
      <progress max={tasks.length} value={done} aria-label="Tasks done" />
      <span>{done} of {tasks.length} done</span>
    </div>
  );
}

function Person({ name }) {
  return <span className={`person ${name.toLowerCase()}`} title={name}>{name[0]}</span>;
}
