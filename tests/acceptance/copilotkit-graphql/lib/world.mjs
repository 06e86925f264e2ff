// Everything a run starts (fakes, remote endpoint, server, browser), and the end of all of it.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fakeAgui } from "../fakes/agui.mjs";
import { fakeGuardrails } from "../fakes/guardrails.mjs";
import { sleep } from "../fakes/http.mjs";
import { fakeJsonLines } from "../fakes/jsonlines.mjs";
import { fakeMcp } from "../fakes/mcp.mjs";
import { fakeOpenAI } from "../fakes/openai.mjs";
import { findPython, need, SUITE } from "./packages.mjs";

const freePort = () =>
  new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const answers = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => (socket.destroy(), resolve(true)));
    socket.on("error", () => resolve(false));
  });

const portOf = (variable) => (process.env[variable] ? Number(new URL(process.env[variable]).port) : 0);

export class World {
  #endings = [];

  /** `given`: a server runs already, so the fakes listen where its RS_ variables point. */
  async start({ given, reference, remote }) {
    const port = (variable) => (given ? portOf(variable) : 0);
    this.openai = await fakeOpenAI(port("RS_UPSTREAM_OPENAI"));
    this.agui = await fakeAgui(port("RS_REMOTE_AGUI"));
    this.jsonlines = await fakeJsonLines(port("RS_REMOTE_JSONLINES"));
    this.guardrails = await fakeGuardrails(port("RS_GUARDRAILS_URL"));
    this.mcp = await fakeMcp(need, port("RS_REMOTE_MCP"));
    this.#endings.push(() => [this.openai, this.agui, this.jsonlines, this.guardrails, this.mcp].forEach((fake) => fake.close()));
    const sdkPort = port("RS_REMOTE_COPILOTKIT") || (await freePort());
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "rightseat-acceptance-"));
    this.#endings.push(() => fs.rmSync(state, { recursive: true, force: true }));
    this.env = {
      ...process.env,
      RS_UPSTREAM_OPENAI: this.openai.base,
      RS_REMOTE_COPILOTKIT: `http://127.0.0.1:${sdkPort}/copilotkit_remote`,
      RS_REMOTE_JSONLINES: this.jsonlines.url,
      RS_REMOTE_AGUI: this.agui.url,
      RS_REMOTE_MCP: this.mcp.endpoint,
      RS_GUARDRAILS_URL: this.guardrails.url,
      RS_STATE_DIR: state,
    };
    const waits = [];
    if (remote) waits.push(this.#process("remote", findPython(), [path.join(SUITE, "fakes", "remote_sdk.py"), sdkPort], sdkPort));
    if (given) this.base = given.replace(/\/$/, "");
    else {
      const serverPort = await freePort();
      this.base = `http://127.0.0.1:${serverPort}`;
      const serve = "tests/acceptance/serve";
      if (!reference && !fs.existsSync(serve)) throw new Error(`${serve} is missing: it starts the server that is judged`);
      const [command, args] = reference
        ? [process.execPath, [path.join(SUITE, "lib", "reference.cjs"), serverPort]]
        : [serve, [path.basename(SUITE), serverPort]];
      waits.push(this.#process("server", command, args, serverPort));
    }
    await Promise.all(waits);
  }

  async #process(name, command, args, port) {
    const logFile = path.join(process.env.RS_SUITE_CACHE, `${name}.log`);
    const log = fs.openSync(logFile, "w");
    const child = spawn(command, args.map(String), { env: this.env, stdio: ["ignore", log, log], detached: true });
    let gone;
    child.on("error", (error) => (gone = error.message));
    child.on("exit", (code, signal) => (gone ??= `ended with ${signal ?? code}`));
    this.#endings.push(async () => {
      const signal = (which) => {
        try {
          process.kill(-child.pid, which); // its own group, so that nothing it started stays
        } catch {}
      };
      signal("SIGTERM");
      for (let i = 0; i < 50 && !gone; i++) await sleep(100);
      signal("SIGKILL");
    });
    for (let i = 0; i < 600; i++) {
      if (gone) throw new Error(`${name} ${gone} before it answered; see ${logFile}`);
      if (await answers(port)) return;
      await sleep(100);
    }
    throw new Error(`${name} did not answer on port ${port} within 60 s; see ${logFile}`);
  }

  onEnd(ending) {
    this.#endings.push(ending);
  }

  async end() {
    for (const ending of this.#endings.splice(0).reverse()) {
      try {
        await ending();
      } catch {}
    }
  }
}
