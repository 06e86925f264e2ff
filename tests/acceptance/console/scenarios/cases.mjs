// Why an answer was as it was: what the model saw, the versions of a question, and a case for the next time.
import fs from "node:fs";
import path from "node:path";
import { contains, expect, lacks, same, tidy, until } from "../lib/util.mjs";
import { checkWithAxe } from "./feedback.mjs";

const PIN = "Pin as a case", AGAIN = "Run it again with a change…";
const field = (tab, name) => tab.page.getByRole("dialog").getByLabel(name, { exact: true });

const group = (tab, name) => tab.page.locator(`[data-testid="sent-call"][open] [data-testid="sent-group"][data-name="${name}"]`);
const arrow = (tab, name) => tab.page.getByRole("button", { name, exact: true });

export const cases = [
  { name: "model-calls", slice: 4, about: "each model call as it was sent, first what changed since the call before; only for those who may read", async run(world) {
    const server = await world.keyed(), word = world.unique("sunny");
    const tab = await world.browser({ user: "olga", route: "chat" });
    await tab.say(`weather for ${word}`);
    await tab.ended("done");
    await tab.page.getByRole("tab", { name: "Prompt", exact: true }).click();
    const calls = tab.page.getByTestId("sent-call");
    await until(async () => (await calls.count()) === 2, "two model calls", { got: () => calls.count() });
    contains(tidy(await tab.page.getByTestId("sent-compared").innerText()), "Compared with call 1", "the view of the last call");
    const messages = group(tab, "messages").getByTestId("sent-message");
    same(await messages.evaluateAll((all) => all.map((one) => [one.dataset.role, one.dataset.change])), [["assistant", "added"], ["tool", "added"]], "the messages that the second call has more");
    contains(tidy(await messages.last().innerText()), "tempC", "the result of the tool, as the model got it");
    lacks(tidy(await group(tab, "messages").innerText()), word, "the changes since the call before");
    same(await group(tab, "parameters").getByTestId("sent-parameter").count(), 0, "parameters that changed");
    await checkWithAxe(tab, "the changes between two model calls");
    await tab.page.getByRole("radio", { name: "Everything sent", exact: true }).check();
    contains(tidy(await messages.first().innerText()), `weather for ${word}`, "the question in the call");
    contains(tidy(await group(tab, "parameters").innerText()), "model: upstream (fake-model)", "the model");
    const tool = group(tab, "tools").locator('[data-testid="sent-tool"][data-name="getWeather"]');
    await tool.locator("summary").click();
    contains(tidy(await tool.innerText()), '"city"', "the parameters of the tool");
    await checkWithAxe(tab, "everything that a model call was sent");
    await calls.first().locator("summary").first().click();
    contains(tidy(await calls.first().innerText()), "there is none before it", "the first call");
    await tab.page.getByRole("tab", { name: "Timeline", exact: true }).click();
    await tab.page.locator('[data-testid="span"][data-kind="model"]').last().click();
    await until(async () => (await tab.page.getByRole("region", { name: "What the model saw" }).getByTestId("sent-call").count()) === 1, "the call of the selected row");

    const thread = await tab.thread();
    const off = await world.browser({ user: "olga", route: "chat" });
    await off.page.route("**/calls?*", (route) => route.fulfill({ json: { is_on: false, calls: [], messages: {}, tools: {}, currency: "USD", next: null } }));
    await off.open(`threads/${thread}`);
    await off.page.getByRole("tab", { name: "Prompt", exact: true }).click();
    contains(tidy(await off.page.getByTestId("prompt-off").innerText()), "record_prompts", "what switches the record on");
    const { thread: own } = await world.api_(server, "alice").run("hello there");
    for (const [user, route] of [["alice", own], ["wu", own]]) {
      const other = await world.browser({ user, route: `threads/${route}` });
      await other.page.getByRole("tab", { name: "Timeline", exact: true }).waitFor();
      same(await other.page.getByRole("tab", { name: "Prompt", exact: true }).count(), 0, `tabs with prompts for ${user}`);
    }
  } },
  { name: "incidents", slice: 4, about: "what fails by agent, cause and model, with users, cost and a fix; from there and from charts to the runs; one range; Stop all", async run(world) {
    const server = await world.keyed(), alice = world.api_(server, "alice");
    for (const user of ["alice", "bob"]) await world.api_(server, user).run("refuse", { agent: "lasting", wait: ["failed"] });
    const tab = await world.browser({ user: "olga", route: "health?range=1h" });
    const groups = tab.page.locator('[data-testid="failed-runs"]', { hasText: "agents.lasting" });
    await groups.first().waitFor();
    const text = tidy(await groups.first().innerText());
    for (const part of ["models.upstream", "2 users", "api_key"]) contains(text, part, "the group of failed runs");
    await checkWithAxe(tab, "the failed runs beside the checks");
    await groups.first().getByRole("link").click();
    await tab.page.getByTestId("run").first().waitFor();
    same(await tab.page.getByTestId("run").evaluateAll((rows) => [...new Set(rows.map((row) => row.dataset.state))]), ["failed"], "the states of the runs");
    contains(tab.page.url(), "range=1h", "the address of the runs");
    await tab.open("metrics?range=24h");
    await tab.go("Usage");
    contains(tab.page.url(), "range=24h", "the range on the next screen");
    await tab.go("Metrics");
    const legend = tab.page.locator('[data-testid="chart"][data-series="runs"] .legend').getByRole("link", { name: "failed", exact: false });
    await legend.first().click();
    await tab.page.getByTestId("run").first().waitFor();
    for (const part of ["state=failed", "range=24h"]) contains(tab.page.url(), part, "the address behind the legend of a chart");

    const keys = [world.unique(), world.unique()], runs = [];
    for (const key of keys) runs.push((await alice.run(`pieces 3 [${key}]`, { wait: null })).run);
    await until(() => keys.every((key) => world.openai.requests(key).length > 0), "two runs in progress");
    for (const user of ["wu", "olga"]) {
      const one = user === "olga" ? tab : await world.browser({ user, route: "health" });
      await one.open("runs?owner=alice&state=running");
      await until(async () => (await one.page.locator('[data-testid="run"][data-state="running"]').count()) >= 2, "rows of the runs in progress");
      same(await one.page.getByRole("button", { name: "Stop all…" }).count(), user === "olga" ? 1 : 0, `buttons that stop all runs, for ${user}`);
    }
    await tab.page.getByRole("button", { name: "Stop all…", exact: true }).click();
    await checkWithAxe(tab, "the question before all runs are stopped");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Stop them", exact: true }).click();
    for (const run of runs) await alice.ended(run, ["cancelled"]);
  } },
  { name: "versions", slice: 2, about: "an edited question keeps its earlier versions with their answers, also after a reload", async run(world) {
    const tab = await world.browser({ user: "alice" }), [first, second, third] = ["red", "green", "blue"].map((color) => world.unique(color));
    await tab.say(`hello ${first}`);
    await tab.sees(`answer to hello ${first}`);
    await tab.ended("done");
    for (const text of [second, third]) {
      await tab.messages("user").last().hover();
      await arrow(tab, "Edit message").last().click();
      const field = tab.page.getByRole("textbox", { name: "Edit message", exact: true });
      await field.fill(`hello ${text}`);
      await field.press("Enter");
      await tab.sees(`answer to hello ${text}`);
      await tab.ended("done");
    }
    const versions = tab.page.getByTestId("versions");
    same([await versions.count(), await versions.getAttribute("data-value")], [1, "3"], "the arrows at the question");
    await arrow(tab, "Version before").click();
    await tab.sees(`answer to hello ${second}`);
    same(await versions.getAttribute("data-value"), "2", "the number of the version");
    same(await tab.page.getByRole("button", { name: "Edit message" }).count(), 0, "buttons that edit an earlier version");
    await checkWithAxe(tab, "an earlier version");
    await tab.reload();
    await tab.sees(`answer to hello ${second}`);
    await arrow(tab, "Version before").click();
    await tab.sees(`answer to hello ${first}`);
    same(await tab.said().then((all) => all.length), 1, "questions in the first version");
    await tab.page.getByRole("button", { name: "Show the latest", exact: true }).click();
    await tab.sees(`answer to hello ${third}`);
    await arrow(tab, "Version before").click();
    await tab.sees(`answer to hello ${second}`);
    await tab.say("hello again");
    await tab.sees("answer to hello again");
    same(tidy((await tab.said())[0]).includes(third), true, "the conversation that goes on is the latest");
  } },
  { name: "pin-a-case", slice: 4, about: "a run becomes a case: a preview without personal data, the file, and the screen Cases", async run(world) {
    const server = await world.open(), word = world.unique("parcel").toLowerCase();
    const folder = path.join(server.stateDir, "evals"), file = path.join(folder, `${word}.yaml`);
    const tab = await world.browser({ at: server.url });
    await tab.say(`weather for ${word}, mail it to kim@example.com`);
    await tab.ended("done");
    await tab.page.getByRole("button", { name: PIN, exact: true }).first().click();
    const preview = tab.page.getByTestId("pin-preview");
    await preview.waitFor();
    same(fs.existsSync(file), false, "a file before it is pinned");
    same(await preview.getAttribute("data-redacted"), "1", "the values that are replaced");
    await preview.locator("summary").click();
    contains(tidy(await preview.innerText()), "[email 1]", "the preview");
    lacks(await preview.innerText(), "kim@example.com", "the preview");
    await checkWithAxe(tab, "the dialog that pins a run");
    await field(tab, "Dataset").fill(word);
    await field(tab, "What should have happened?").fill("It must not send mail.");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Pin", exact: true }).click();
    await tab.page.getByTestId("pinned").waitFor();
    const text = fs.readFileSync(file, "utf8");
    contains(text, "It must not send mail.", "the rubric of the case");
    contains(text, "tool: getWeather", "the recorded call");
    lacks(text, "kim@example.com", "the file");
    await checkWithAxe(tab, "the dialog after the run was pinned");
    await tab.page.getByRole("link", { name: "All cases" }).click();
    const line = tab.page.locator(`[data-testid="dataset"][data-name="${word}"] [data-testid="case-line"]`);
    await line.waitFor();
    contains(tidy(await line.innerText()), "not run as it is now", "the outcome of a new case");
    await checkWithAxe(tab, "the cases");
    await line.getByRole("link").click();
    await tab.page.getByRole("button", { name: PIN, exact: true }).first().waitFor();
    same((await tab.said()).length, 1, "the conversation of the run that the case was made of");
  } },
  { name: "run-again", slice: 4, about: "a stored run once more with a change: both side by side, no tool runs, nothing is stored, Stop and leaving the page end it; kept as a case", async run(world) {
    const server = await world.open(), api = world.api_(server), word = world.unique("storm").toLowerCase();
    const tab = await world.browser({ at: server.url }), { page } = tab;
    await tab.say(`weather for ${word}`);
    await tab.ended("done");
    const thread = await tab.thread(), before = JSON.stringify((await api.ok(`threads/${thread}`)).runs);
    await page.getByRole("link", { name: AGAIN, exact: true }).first().click();
    const [left, right] = ["before", "after"].map((side) => page.getByTestId(`rerun-${side}`));
    const start = page.getByRole("button", { name: "Run again", exact: true }), stop = page.getByRole("button", { name: "Stop", exact: true });
    const type = (name, text) => page.getByRole("textbox", { name }).fill(text);
    await left.getByTestId("span").first().waitFor();
    contains(tidy(await left.innerText()), "Done: ", "the answer of the recorded run");
    await checkWithAxe(tab, "the page before the run was run again");

    await type(/^Result of getWeather/, `snow ${word}`);
    await start.click();
    await until(async () => tidy(await right.innerText()).includes(`Done: snow ${word}`), "the answer to the changed result", { got: () => right.innerText() });
    lacks(tidy(await left.innerText()), "snow", "the recorded run");
    for (const kind of ["run", "model", "tool"]) expect((await right.locator(`[data-testid="span"][data-kind="${kind}"]`).count()) > 0, `a ${kind} in the timeline of the changed run`, await right.innerText());
    same(await page.getByTestId("rerun-calls").locator('tbody tr[data-changed="true"]').count(), 0, "calls that differ");
    await right.locator('[data-testid="span"][data-kind="model"]').last().click();
    await checkWithAxe(tab, "both runs side by side");

    const file = world.unique("file");
    await type(/^Question/, `delete ${file}`);
    await start.click();
    const missing = page.getByTestId("rerun-missing");
    await missing.waitFor();
    contains(tidy(await missing.innerText()), file, "the call that is not in the recording");
    await checkWithAxe(tab, "a call that is not in the recording");
    await missing.getByRole("textbox").fill("gone, says a person");
    await missing.getByRole("button", { name: "Use this result" }).click();
    await until(async () => tidy(await right.innerText()).includes("Done: gone, says a person"), "the answer to the typed result", { got: () => right.innerText() });
    same(await page.getByTestId("rerun-calls").locator('tbody tr[data-changed="true"]').count(), 2, "calls that differ");
    same(world.api.seen("/deleted").filter((one) => one.body?.path === file).length, 0, "files that were deleted");

    const leave = () => tab.open("chat");
    for (const end of [() => stop.click(), leave]) {
      const key = world.unique();
      await type(/^Question/, `pieces 3 [${key}]`);
      await start.click();
      await until(() => world.openai.requests(key).length === 1, "a request to the model");
      await end();
      await until(() => world.openai.requests(key)[0].aborted, "the end of the request to the model");
      if (end !== leave) await until(async () => tidy(await right.innerText()).includes("Stopped"), "the stopped run", { got: () => right.innerText() });
    }
    same(JSON.stringify((await api.ok(`threads/${thread}`)).runs), before, "the runs of the thread");

    await page.goBack();
    await type(/^Result of getWeather/, `snow ${word}`);
    await page.getByRole("button", { name: "Keep as a case", exact: true }).click();
    await page.getByTestId("pin-preview").waitFor();
    await checkWithAxe(tab, "the dialog that keeps a changed run");
    await field(tab, "Dataset").fill(word);
    await page.getByRole("dialog").getByRole("button", { name: "Pin", exact: true }).click();
    await page.getByTestId("pinned").waitFor();
    contains(fs.readFileSync(path.join(server.stateDir, "evals", `${word}.yaml`), "utf8"), `snow ${word}`, "the result in the case");

    const keyed = await world.keyed(), { thread: own } = await world.api_(keyed, "olga").run("hello there");
    const olga = await world.browser({ user: "olga", route: `threads/${own}` });
    await olga.page.getByRole("tree", { name: "Timeline" }).waitFor();
    same(await olga.page.getByRole("link", { name: AGAIN }).count(), 0, "links for a user who may not author");
  } },
  { name: "tasks", slice: 4, about: "the tasks of docs/how-to/console.md, with the clicks that it says", async run(world) {
    const server = await world.open(), word = world.unique("harbor");
    await world.api_(server).run(`weather for ${word}`);
    await world.api_(server).run("refuse", { wait: ["failed"] });
    const tab = await world.browser({ at: server.url, route: "chat" }), { page } = tab;
    await page.evaluate(() => { window.clicks = 0; addEventListener("click", (event) => { if (event.isTrusted && event.detail > 0) window.clicks++; }, true); });
    const clicks = async (wanted, what) => { same(await page.evaluate(() => { const all = window.clicks; window.clicks = 0; return all; }), wanted, `clicks to ${what}`); };
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").or(page.getByRole("dialog").getByRole("textbox")).first().fill(word);
    await page.getByRole("dialog").getByText(word).first().waitFor();
    await page.keyboard.press("Enter");
    await tab.sees("tempC");
    await clicks(0, "find a run by its text");
    await page.getByRole("tab", { name: "Prompt", exact: true }).click();
    await page.getByTestId("sent-compared").waitFor();
    await clicks(1, "see what the model was sent");
    await page.getByTestId("call").first().locator("button, summary").first().click();
    await until(async () => /"city"/.test(await page.getByTestId("call").first().innerText()), "the arguments of the call");
    await clicks(1, "see the arguments and the result of a tool");
    await page.getByRole("link", { name: AGAIN, exact: true }).first().click();
    await page.getByRole("textbox", { name: /^Result of getWeather/ }).press("End");
    await page.keyboard.type(" and wind");
    await page.getByRole("button", { name: "Run again", exact: true }).click();
    await until(async () => /and wind/.test(await page.getByTestId("rerun-after").innerText()), "the changed answer");
    await clicks(2, "ask again with a change");
    await tab.go("Health");
    const group = page.getByTestId("failed-runs").first();
    await group.waitFor();
    for (const part of ["1 user", "models.upstream"]) contains(tidy(await group.innerText()), part, "what fails, for whom");
    await clicks(1, "see what fails, since when and for whom");
    const key = world.unique();
    await world.api_(server).run(`pieces 3 [${key}]`, { wait: null });
    await until(() => world.openai.requests(key).length > 0, "a run in progress");
    await tab.open("runs?state=running");
    await page.evaluate(() => { window.clicks = 0; });
    await page.getByRole("button", { name: "Stop all…", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop them", exact: true }).click();
    await until(() => world.openai.requests(key)[0].aborted, "the end of the run");
    await clicks(2, "stop the runs that a filter shows");
  } },
  { name: "pin-offered", slice: 4, about: "where the server writes no cases, the dialog has the file as a download; without the right there is no button", async run(world) {
    const server = await world.keyed();
    const ada = await world.browser({ user: "ada", route: "chat" });
    await ada.say("hello there");
    await ada.ended("done");
    // The answer of a server that other machines reach; the tests of the API have one.
    await ada.page.route("**/pin", (route) => route.fulfill({ status: 201, json: { dataset: "own", name: "hello", turns: 1, recorded: 0, redacted: 0, notes: [], file: null, text: "version: 1\ncases:\n  - name: hello\n", files: { "own.files/ab12.txt": "aGk=" } } }));
    await ada.page.getByRole("button", { name: PIN, exact: true }).first().click();
    await ada.page.getByRole("dialog").getByRole("button", { name: "Pin", exact: true }).click();
    for (const [name, content] of [["own.yaml", "cases:\n  - name: hello"], ["ab12.txt", "hi"]]) {
      const [download] = await Promise.all([ada.page.waitForEvent("download"), ada.page.getByRole("link", { name: new RegExp(name.replace(".", "\\.")) }).click()]);
      same(download.suggestedFilename(), name, "the name of the download");
      contains(fs.readFileSync(await download.path(), "utf8"), content, "the download");
    }
    await ada.page.keyboard.press("Escape");
    await ada.open("cases");
    await until(async () => /operator\.read/.test(await ada.text()), "the right that the list of cases needs");

    const { thread } = await world.api_(server, "alice").run("hello there");
    const olga = await world.browser({ user: "olga", route: `threads/${thread}` });
    await olga.page.getByRole("tree", { name: "Timeline" }).waitFor();
    same(await olga.page.getByRole("button", { name: PIN, exact: true }).count(), 0, "buttons for a user who may not author");
  } },
];
