// The command line beside a running server.
import { spawn } from "node:child_process";
import path from "node:path";

/** `rightseat WORDS…` with the configuration of the server: `{code, out, err}`. */
export function command(suite, server, ...words) {
  return new Promise((resolve, reject) => {
    const child = spawn(path.resolve("tests/acceptance/command"), [suite, ...words], { env: server.env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (part) => { out += part; });
    child.stderr.on("data", (part) => { err += part; });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}
