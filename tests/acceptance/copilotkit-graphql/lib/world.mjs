// Everything a run starts (fakes, remote endpoint, server, browser), and the end of all of it.
import fs from "node:fs";
import path from "node:path";
import { answers, freePort } from "../../_lib/ports.mjs";
import { OwnServer, peer, serve } from "../../_lib/server.mjs";
import { fakeAgui } from "../fakes/agui.mjs";
import { fakeGuardrails } from "../fakes/guardrails.mjs";
import { fakeJsonLines } from "../fakes/jsonlines.mjs";
import { fakeMcp } from "../fakes/mcp.mjs";
import { fakeOpenAI } from "../fakes/openai.mjs";
import { findPython, need, SUITE } from "./packages.mjs";

const portOf = (variable) => (process.env[variable] ? Number(new URL(process.env[variable]).port) : 0);

/** A server of a fleet is judged where its services are named. */
const fleet = () => Object.fromEntries(["RS_DATABASE_URL", "RS_REDIS_URL"].filter((name) => process.env[name]).map((name) => [name, process.env[name]]));

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
    this.env = {
      ...fleet(),
      RS_UPSTREAM_OPENAI: this.openai.base,
      RS_REMOTE_COPILOTKIT: `http://127.0.0.1:${sdkPort}/copilotkit_remote`,
      RS_REMOTE_JSONLINES: this.jsonlines.url,
      RS_REMOTE_AGUI: this.agui.url,
      RS_REMOTE_MCP: this.mcp.endpoint,
      RS_GUARDRAILS_URL: this.guardrails.url,
    };
    const starts = [];
    if (remote) starts.push(this.#make("remote", (port) => [findPython(), path.join(SUITE, "fakes/remote_sdk.py"), String(port)], sdkPort));
    if (given) this.base = given;
    else {
      const serverPort = await freePort();
      this.base = `http://127.0.0.1:${serverPort}`;
      starts.push(this.#make("server", reference ? peer(path.join(SUITE, "lib/reference.cjs")) : serve(path.basename(SUITE)), serverPort));
    }
    await Promise.all(starts.map((server) => server.start()));
  }

  #make(title, command, port) {
    const logFile = path.join(process.env.RS_SUITE_CACHE, `${title}.log`);
    fs.rmSync(logFile, { force: true });
    const server = new OwnServer({ title, command, port, logFile, env: this.env, isUp: () => answers(port) });
    this.#endings.push(() => server.stop());
    return server;
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
