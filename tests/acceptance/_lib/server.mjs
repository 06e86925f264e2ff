// Starts, kills and restarts server processes that a suite owns.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { sleep, until } from "./expect.mjs";
import { freePort } from "./ports.mjs";

const SERVE = "tests/acceptance/serve";
const running = new Set();

/** What starts the project's server for a suite; `run` has changed to the project's root. */
export function serve(suite) {
  if (!fs.existsSync(SERVE)) throw new Error(`${SERVE} is not there: run this from the project's root, or give --url or --reference`);
  return (port) => [path.resolve(SERVE), suite, String(port)];
}

/** A peer written for Node: `file` is its program, which is told the port. */
export const peer = (file) => (port) => [process.execPath, file, String(port)];

/** A process group with a folder for its state and its log. After `kill` or `end` it can be started again, on the same port and folder. */
export class OwnServer {
  /**
   * `command(port)` is program and arguments; `isUp(url)` is asked until it answers true. A value of null in `env` takes a
   * variable away. The variables of a fleet are taken away unless `env` has them.
   */
  constructor({ command, isUp, env = {}, port, logFile, every = 100, title = "the server" }) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "rs-server-"));
    this.stateDir = path.join(this.folder, "state");
    fs.mkdirSync(this.stateDir);
    Object.assign(this, { command, isUp, port, every, title, logFile: logFile ?? path.join(this.folder, "server.log") });
    this.env = { ...process.env, RS_STATE_DIR: this.stateDir, DO_NOT_TRACK: "1", ...env };
    for (const name of ["RS_DATABASE_URL", "RS_REDIS_URL"]) if (!(name in env)) delete this.env[name];
    for (const [name, value] of Object.entries(this.env)) if (value === null) delete this.env[name];
  }

  /** `env` is what differs this time; `answering` is how long it may take, in ms. */
  async start({ env = {}, answering = 180_000 } = {}) {
    this.port ??= await freePort();
    this.url = `http://127.0.0.1:${this.port}`;
    const whole = Object.fromEntries(Object.entries({ ...this.env, ...env }).filter(([, value]) => value !== null));
    const [program, ...words] = this.command(this.port);
    const log = fs.openSync(this.logFile, "a");
    this.child = spawn(program, words, { cwd: process.cwd(), env: whole, detached: true, stdio: ["ignore", log, log] });
    fs.closeSync(log);
    this.result = undefined;
    this.exited = new Promise((resolve) => { this.child.once("exit", (code, signal) => resolve(this.result = { code, signal })); this.child.once("error", (error) => resolve(this.result = { error: error.message })); });
    running.add(this);
    for (const end = Date.now() + answering; ;) {
      if (this.result) throw new Error(`${this.title} ended before it answered: ${JSON.stringify(this.result)}\n${this.tail()}`);
      try { if (await this.isUp(this.url)) break; } catch { /* not yet */ }
      if (Date.now() > end) throw new Error(`no answer of ${this.title} on ${this.url} within ${answering / 1000} s\n${this.tail()}`);
      await sleep(this.every);
    }
    this.startedAt = Date.now();
    return this;
  }

  log() { return fs.existsSync(this.logFile) ? fs.readFileSync(this.logFile, "utf8") : ""; }
  tail() { return this.log().slice(-1500); }
  logged(part, what = part) { return until(() => this.log().includes(part), `the server's log to say ${what}`, { timeout: 5000, got: () => this.tail() }); }
  signal(name) { try { process.kill(-this.child.pid, name); } catch { /* gone */ } }

  /** kill -9 of the whole process group. */
  async kill() { this.signal("SIGKILL"); await this.exited; running.delete(this); }

  /** SIGTERM, and its end. */
  async end(patience = 15_000) {
    if (!running.has(this)) return;
    if (!this.result) { this.signal("SIGTERM"); await Promise.race([this.exited, sleep(patience)]); }
    this.signal("SIGKILL"); // what it has left behind, too
    await this.exited;
    running.delete(this);
  }

  /** Its end, and that of its folder. */
  async stop() {
    await this.end(6000);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Whether this address answers at all. */
export const answersAt = (place) => async (url) => Boolean(await fetch(url + place, { signal: AbortSignal.timeout(3000) }));
/** Whether this address answers with 200. */
export const isWellAt = (place) => async (url) => (await fetch(url + place, { signal: AbortSignal.timeout(3000) })).status === 200;

export async function stopAll() { await Promise.all([...running].map((server) => server.stop())); }
process.on("exit", () => { for (const server of running) server.signal("SIGKILL"); });
