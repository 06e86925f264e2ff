/** Takes the addresses of the registry out of package-lock.json, so that any mirror can be used. npm's own option for it loses packages of other platforms. */
import { readFileSync, writeFileSync } from "node:fs";

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const one of Object.values(lock.packages)) delete one.resolved;
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
