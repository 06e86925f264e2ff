// Votes: given in a chat, and seen where a run is.
import { contains, lacks, same, tidy, until } from "../lib/util.mjs";
import { findViolations } from "./everyone.mjs";

const THEMES = ["light", "dark"];

const isPressed = (tab, value) => tab.page.getByTestId(`vote-${value}`).last().getAttribute("aria-pressed");
const values = (tab, series) => tab.page.locator(`.vote-charts [data-series="${series}"] tbody td`).evaluateAll((cells) => cells.map((cell) => cell.dataset.value));

/** Nothing is hidden from anybody in either theme. */
export async function checkWithAxe(tab, where) {
  for (const colorScheme of THEMES) {
    await tab.page.emulateMedia({ colorScheme });
    same(await findViolations(tab), [], `violations at ${where}, ${colorScheme}`);
  }
}

export const feedback = [
  { name: "feedback", slice: 4, about: "a vote in a chat is stored with its comment, changed and withdrawn; operators see it at the run and in charts", async run(world) {
    const server = await world.keyed(), alice = world.api_(server, "alice"), word = world.unique("wrongyear");
    const tab = await world.browser({ user: "alice", route: "chat" });
    await tab.say(`hello ${word}`);
    await tab.page.getByTestId("vote-down").last().waitFor();
    const thread = await tab.thread();
    const stored = async () => (await alice.ok(`feedback?thread=${thread}`)).feedback.map((row) => [row.value, row.comment, row.through]);
    same(await isPressed(tab, "down"), "false", "pressed, before a vote");
    await tab.page.getByTestId("vote-down").last().click();
    await until(async () => (await stored()).length === 1, "a stored vote", { got: stored });
    const comment = tab.page.getByRole("textbox", { name: "What was wrong?", exact: true });
    await comment.waitFor();
    await checkWithAxe(tab, "the form of a vote");
    await comment.fill(`It says ${word}`);
    await comment.press("Enter");
    await until(async () => (await stored())[0]?.[1] === `It says ${word}`, "the comment", { got: stored });
    same(await stored(), [["down", `It says ${word}`, "operator"]], "the rows");
    await tab.reload();
    await until(async () => (await isPressed(tab, "down")) === "true", "the vote after a reload");

    const olga = await world.browser({ user: "olga", route: `runs?feedback=down&owner=alice` });
    const row = olga.page.locator(`[data-testid="run"]:has(a[href*="${thread}"])`);
    await row.waitFor();
    same(await row.getByTestId("vote").getAttribute("data-value"), "down", "the mark of the run");
    await checkWithAxe(olga, "the runs with a bad vote");
    await olga.open("runs?feedback=up&owner=alice");
    await olga.page.locator('[role="table"][aria-busy="false"]').waitFor();
    same(await row.count(), 0, "rows with a good vote");
    await olga.open(`threads/${thread}`);
    const note = olga.page.getByTestId("vote-note");
    await note.waitFor();
    contains(await note.innerText(), `It says ${word}`, "the note of the vote");
    await olga.open("metrics?range=1h");
    await olga.page.locator(".vote-charts").waitFor();
    await checkWithAxe(olga, "the charts of votes");
    for (const summary of await olga.page.locator(".vote-charts summary").all()) await summary.click();
    const cells = await values(olga, "votes");
    same(cells.length >= 2 && cells.some((value) => Number(value) >= 1), true, `a vote among ${cells}`);

    const wu = await world.browser({ user: "wu", route: "runs?feedback=down&owner=alice" });
    await wu.page.locator(`[data-testid="run"]:has(a[href*="${thread}"])`).getByTestId("vote").waitFor();
    await wu.open(`threads/${thread}`);
    await until(async () => /hello|Done|done/.test(tidy(await wu.text())), "the numbers of the thread");
    lacks(await wu.dom(), word, "what wu sees of the vote");

    await tab.page.getByTestId("vote-up").last().click();
    await until(async () => (await stored())[0]?.[0] === "up", "the changed vote", { got: stored });
    await until(async () => (await isPressed(tab, "up")) === "true", "the button of the changed vote");
    await tab.page.getByTestId("vote-up").last().click();
    await until(async () => (await stored()).length === 0, "the vote withdrawn", { got: stored });
    await until(async () => (await isPressed(tab, "up")) === "false", "no pressed button");
  } },
];
