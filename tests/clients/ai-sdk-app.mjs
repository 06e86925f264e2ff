// What a person does on the page of examples/ai-sdk-app: node ai-sdk-app.mjs FOLDER URL. Prints what was seen, as JSON.
import { open, text } from "./browser.mjs";

const [folder, url] = process.argv.slice(2);
const { browser, page, complaints } = await open(folder, { width: 900, height: 700 });
const seen = {};

const messages = ".messages > li:not(.end)";

const shown = async () => (await page.locator(messages).allInnerTexts()).map(text);
const ready = () => page.getByRole("button", { name: "Send" }).waitFor();
const ask = async (words) => {
  await page.getByLabel("Message").fill(words);
  await page.getByLabel("Message").press("Enter");
};
// From now on, the page notes each text that its last message has.
const watchLast = () =>
  page.evaluate((selector) => {
    window.growing = [];
    const note = () => window.growing.push([...document.querySelectorAll(selector)].at(-1)?.innerText ?? "");
    new MutationObserver(note).observe(document.body, { childList: true, characterData: true, subtree: true });
  }, messages);
const sees = (words) => page.locator(messages).last().getByText(words).waitFor();
// The page counts how often Stop has taken the place of Send: from outside, a short answer could be missed.
await page.addInitScript(() => {
  window.began = 0;
  let isBusy = false;
  new MutationObserver(() => {
    const wasBusy = isBusy;
    isBusy = [...document.querySelectorAll("form button")].some((button) => button.textContent === "Stop");
    if (isBusy && !wasBusy) window.began += 1;
  }).observe(document, { childList: true, characterData: true, subtree: true });
});
/** Do something that the copilot answers, and wait for the end of the answer. */
const answered = async (act) => {
  const before = await page.evaluate(() => window.began);
  await act();
  await page.waitForFunction((before) => window.began > before, before);
  await ready();
};

try {
  await page.goto(url);
  await ready();
  seen.first = await shown();
  await watchLast();
  await answered(() => ask("Who are you?"));
  seen.growing = (await page.evaluate(() => window.growing)).map(text);
  await answered(() => ask("Which notes do I have?"));
  await sees("Water the plants");
  seen.listed = (await shown()).at(-1);
  await ask("Make it dark");
  await sees("The page is dark now.");
  await ready();
  seen.theme = await page.evaluate(() => document.documentElement.style.colorScheme);
  await answered(() => ask("Delete the bread"));
  await page.getByRole("button", { name: "Delete" }).waitFor();
  await page.reload();
  await ready();
  await page.getByRole("button", { name: "Delete" }).click();
  await sees("Buy bread is deleted.");
  await ready();
  seen.deleted = (await shown()).at(-1);
  await answered(() => ask("Delete Mira"));
  await page.getByRole("button", { name: "Keep" }).click();
  await sees("not done");
  await ready();
  seen.kept = (await shown()).at(-1);
  await answered(() => ask("Which notes do I have?"));
  await sees("Call Mira");
  const before = await shown();
  await page.reload();
  await ready();
  await sees("Call Mira");
  seen.same = JSON.stringify(await shown()) === JSON.stringify(before);
  await answered(() => page.getByRole("button", { name: "Again" }).click());
  seen.again = (await shown()).length === before.length;
  if (process.env.RIGHTSEAT_SCREENSHOT) await page.screenshot({ path: process.env.RIGHTSEAT_SCREENSHOT });
  await ask("Tell me about yourself");
  await sees("I look after");
  await page.reload();
  await sees("change one line in server/rightseat.yaml");
  await ready();
  seen.resumed = (await shown()).at(-1);
  await page.getByRole("button", { name: "New chat" }).click();
  await page.waitForFunction(() => !document.querySelector(".messages > li:not(.end)"));
  seen.anew = await shown();
} catch (error) {
  seen.failure = `${error.message}\n${JSON.stringify(await shown().catch(() => []))}\n${complaints.join("\n")}`;
}
seen.complaints = complaints;
console.log(JSON.stringify(seen));
await browser.close();
