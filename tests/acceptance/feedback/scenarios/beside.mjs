// Commands beside the server.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, same } from "../../_lib/expect.mjs";
import { ask, ok, rows, vote, voteInWorkspace } from "../lib/faces.mjs";

const linesOf = ({ code, out, err }) => {
  same(code, 0, `the exit status (${err})`);
  return out.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
};

export const beside = [
  { name: "feedback-export", ownServer: true, about: "`rightseat feedback --json` prints every vote; `users export` has it and `users forget` deletes it", async run(world) {
    const server = await world.ownServer(), user = world.user(), word = world.unique("wrong");
    const { id, thread } = await ask.copilotkit(server.url, user, "hello");
    ok(await vote(server.url, "copilotkit", user, { id, value: "down", comment: word, tags: ["old"] }), "POST /copilotkit/feedback");
    ok(await voteInWorkspace(server.url, user, { vote: "up", user_prompt: "q", ai_response: "a", trace_id: "t" }), "POST /openbb/v1/feedback");
    const lines = linesOf(await server.command("feedback", "--json"));
    same(lines.map((line) => [line.value, line.comment, line.owner, line.through]).sort(), [["down", word, user.name, "copilotkit"], ["up", null, user.name, "openbb"]], "the lines");
    const down = lines.find((line) => line.value === "down");
    same([down.thread, down.message, Boolean(down.run)], [thread, id, true], "[thread, message, whether there is a run]");
    same(linesOf(await server.command("feedback", "--json", "--value", "up")).length, 1, "the number of lines with --value up");

    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "rs-export-"));
    const archive = path.join(folder, "user.zip");
    const exported = await server.command("users", "export", user.name, "--output", archive);
    same(exported.code, 0, `the exit status of users export (${exported.err})`);
    execFileSync("python3", ["-m", "zipfile", "-e", archive, folder]);
    const votes = JSON.parse(fs.readFileSync(path.join(folder, "feedback.json"), "utf8"));
    fs.rmSync(folder, { recursive: true });
    same(votes.map((line) => line.value).sort(), ["down", "up"], "the votes of the archive");
    const forgotten = await server.command("users", "forget", user.name, "--yes");
    same(forgotten.code, 0, `the exit status of users forget (${forgotten.err})`);
    expect(/2 feedback/.test(forgotten.out + forgotten.err), "2 feedback among what was deleted", forgotten.out + forgotten.err);
    same(await rows(server.url, user), [], "the rows afterwards");
    same((await vote(server.url, "copilotkit", user, { id, value: "up" })).status, 404, "the status of a vote on what was forgotten");
  } },
];
