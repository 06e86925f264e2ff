// Servers of a scenario's own: guards, crashes, and commands beside them.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { expect, same, until } from "../../_lib/expect.mjs";
import { add, ask, isRefused, list, ok, send } from "../lib/http.mjs";

const ERASED_MS = 5000; // as docs/explanation/data-retention.md promises

export const beside = [
  { name: "guard-personal-data", ownServer: true, about: "with a guard on memories, personal data is neither added, replaced nor saved by the model", async run({ ownServer, user }) {
    const { url } = await ownServer({ RS_GUARDS: "personal" }), alice = user();
    isRefused(await add(url, alice, "write to jane.doe@example.org"), "an address");
    isRefused(await add(url, alice, "her card is 4111 1111 1111 1111"), "a card number");
    const fine = ok(await add(url, alice, "likes tea"), "POST /memories");
    isRefused(await send(url, alice, "PATCH", `memories/${fine.id}`, { content: "jane.doe@example.org", kind: "topical" }), "a replacement with an address");
    await ask(url, alice, "remember that my mail is jane.doe@example.org");
    same((await list(url, alice)).map((memory) => memory.content), ["likes tea"], "memories");
  } },
  { name: "memories-crash", ownServer: true, about: "kill -9 after the response loses no memory", async run({ ownServer, user, unique }) {
    const server = await ownServer(), alice = user(), text = unique("survives");
    ok(await add(server.url, alice, text), "POST /memories");
    await server.restart();
    same((await list(server.url, alice)).map((memory) => memory.content), [text], "memories after the restart");
  } },
  { name: "memories-erased", ownServer: true, about: "`users export` has them; `users forget` leaves no byte in any file and no backup taken afterwards", async run({ ownServer, user, unique }) {
    const server = await ownServer(), alice = user(), bob = user(), mark = unique("m").replace("-", ""), other = unique("o").replace("-", "");
    ok(await add(server.url, alice, `by hand ${mark}`), "POST /memories");
    const one = ok(await add(server.url, alice, `replaced ${mark}`), "POST /memories");
    ok(await send(server.url, alice, "PATCH", `memories/${one.id}`, { content: `replacing ${mark}`, kind: "topical" }), "PATCH");
    await ask(server.url, alice, `remember that ${mark} is mine`);
    ok(await add(server.url, bob, `by hand ${other}`), "POST /memories");
    expect(server.filesWith(mark).length > 0, "the text in a file before", "none");

    const archive = path.join(server.folder, "user.zip");
    const exported = await server.command("users", "export", alice.name, "--output", archive);
    same(exported.code, 0, `the exit status of users export (${exported.err})`);
    execFileSync("python3", ["-m", "zipfile", "-e", archive, path.join(server.folder, "export")]);
    same(JSON.parse(fs.readFileSync(path.join(server.folder, "export", "memories.json"), "utf8")).length, 3, "memories of the archive");
    const forgotten = await server.command("users", "forget", alice.name, "--yes");
    same(forgotten.code, 0, `the exit status of users forget (${forgotten.err})`);
    expect(/3 memories/.test(forgotten.out), "3 memories among what was deleted", forgotten.out);
    await until(() => server.filesWith(mark).length === 0, "no byte of alice's", { timeout: ERASED_MS, got: () => server.filesWith(mark) });
    expect(server.filesWith(other).length > 0, "bob's data", "none");
    const backup = path.join(server.folder, "backup.tar.gz");
    const backed = await server.command("backup", backup);
    same(backed.code, 0, `the exit status of backup (${backed.err})`);
    const content = execFileSync("tar", ["-xzOf", backup], { maxBuffer: 2 ** 28 });
    same([content.includes(other), content.includes(mark)], [true, false], "[bob's, alice's] in the backup");
  } },
];
