// What copilots remember about users: a save that waits for a person, the list with where each memory came from, its deletion.
import { contains, same, tidy, until } from "../lib/util.mjs";
import { checkWithAxe } from "./feedback.mjs";

export const memories = [
  { name: "memories", slice: 4, about: "a save waits under Approvals with its text; the memory has its origin and who agreed; deleted, the conversation keeps what was said", async run(world) {
    const server = await world.keyed(), bob = world.api_(server, "bob"), text = `Reports go out as ${world.unique("format")} files.`;
    const { thread } = await bob.run(`remember ${text}`, { agent: "keeper", wait: ["waiting"] });
    const tab = await world.browser({ user: "olga", route: "approvals" }), { page } = tab;
    const card = page.getByTestId("question").filter({ hasText: text });
    await card.waitFor();
    const shown = tidy(await card.innerText());
    contains(shown, "Save a memory", "the title of the question");
    contains(shown, "Remember this in all your later conversations?", "the sentence of the question");
    same(shown.split(text).length - 1, 1, "how often the text is shown");
    await checkWithAxe(tab, "a memory that waits for a person");
    await card.getByRole("button", { name: "Allow", exact: true }).click();
    await until(async () => (await bob.ok("memories")).memories.length > 0, "the memory");

    await tab.go("Memories");
    contains(tidy(await tab.text()), "Nothing is remembered", "olga's own memories");
    await page.getByRole("textbox", { name: "User", exact: true }).fill("bob");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const memory = page.getByTestId("memory").filter({ hasText: text });
    await memory.waitFor();
    for (const part of ["saved by the model of keeper", "agreed by olga", "about bob", "fact"]) contains(tidy(await memory.innerText()), part, "the memory");
    await checkWithAxe(tab, "the memories of a user");
    const address = await memory.getByRole("link").getAttribute("href");
    contains(address, `threads/${thread}?run=`, "the link to where it came from");
    await memory.getByRole("button", { name: "Delete…", exact: true }).click();
    contains(tidy(await page.getByRole("dialog").innerText()), "keeps what was said", "the dialog");
    await checkWithAxe(tab, "the dialog that deletes a memory");
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await until(async () => (await memory.count()) === 0, "the memory to go");
    same((await bob.ok("memories")).memories, [], "bob's memories");
    contains(JSON.stringify((await bob.ok(`threads/${thread}`)).messages), text, "bob's conversation");

    for (const user of ["alice", "wu"]) {
      const other = await world.browser({ user, route: "memories?owner=bob" });
      await other.page.getByRole("heading", { name: "Memories" }).waitFor();
      same(await other.page.getByRole("textbox", { name: "User" }).count(), 0, `fields for the user of memories, for ${user}`);
      await until(async () => /operator\.(watch|read)/.test(await other.text()), "the right that the memories of others need", { got: () => other.text() });
    }
  } },
];
