// From a run to a case of an evaluation, and the list of cases.
import fs from "node:fs";
import path from "node:path";
import { contains, lacks, same, tidy, until } from "../lib/util.mjs";
import { checkWithAxe } from "./feedback.mjs";

const PIN = "Pin as a case";
const field = (tab, name) => tab.page.getByRole("dialog").getByLabel(name, { exact: true });

export const cases = [
  { name: "pin-a-case", slice: 4, about: "a run becomes a case: a preview without personal data, the file, and the screen Cases", async run(world) {
    const server = await world.open(), word = world.unique("refund").toLowerCase();
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
