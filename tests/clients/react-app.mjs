// Uses examples/react-app as a person does, and tells in JSON what was seen: node react-app.mjs FOLDER URL
// FOLDER has the node_modules of the application. RIGHTSEAT_SCREENSHOT names a file for a picture of the page.
import { ANSWER, PATIENCE, open, text } from "./browser.mjs";

const [folder, url] = process.argv.slice(2);
const { browser, page, complaints } = await open(folder, { width: 1320, height: 820 });

const seen = {};
try {
  await page.goto(url);
  seen.first = await look();

  const growing = watch("No answer from the bank yet");
  await page.getByTestId("copilot-suggestion").filter({ hasText: "holding up" }).click();
  seen.growing = await growing;
  await idle();
  seen.marked = await look();

  await say("Mark the release notes as done");
  seen.question = await question();
  await idle(); // the run that asks has ended
  seen.before = await look();
  if (process.env.RIGHTSEAT_SCREENSHOT) await picture(process.env.RIGHTSEAT_SCREENSHOT);
  await page.reload();
  seen.reminded = await question();
  await idle();
  await page.getByRole("button", { name: "Approve" }).click();
  await answered("is in Done now");
  seen.approved = await look();

  await say("Give the launch webinar to Jonas");
  await question();
  await idle();
  await page.getByRole("button", { name: "Keep as it is" }).click();
  await answered("stays as it is");
  seen.refused = await look();

  await page.reload();
  await answered("stays as it is");
  seen.reloaded = await look();

  await say("What is on my plate?");
  await answered("Mira has");
  seen.afterwards = await look();
  seen.voted = [await press("up"), await press("down")];

  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByTestId("copilot-suggestion").first().waitFor();
  seen.anew = await look();
} catch (error) {
  seen.failure = `${error.message}\n${JSON.stringify(await look().catch(String))}`;
}
seen.complaints = complaints;
await browser.close();
console.log(JSON.stringify(seen));

/** Presses a thumb below the last answer. Returns what the server stored. */
async function press(value) {
  const response = page.waitForResponse((one) => one.url().endsWith("/feedback"));
  await page.getByTestId(`copilot-thumbs-${value}-button`).last().click();
  const { id, value: stored, messageId } = await (await response).json();
  return { id, value: stored, messageId };
}

async function say(words) {
  await page.locator("textarea").fill(words);
  await page.getByTestId("copilot-send-button").and(page.locator(":enabled")).waitFor();
  await page.locator("textarea").press("Enter");
}

async function question() {
  return text(await page.getByTestId("approval").innerText());
}

/** An answer with these words is there, and nothing is under way. */
async function answered(words) {
  await page.locator(ANSWER, { hasText: words }).waitFor();
  await idle();
}

async function idle() {
  await page.locator('.page[data-running="false"]').waitFor();
}

/** What the answers say, again and again until they say these last words. */
function watch(last) {
  return page.evaluate(([selector, last, patience]) => new Promise((resolve, reject) => {
    const texts = [];
    const observer = new MutationObserver(() => {
      const now = [...document.querySelectorAll(selector)].map((one) => one.innerText.trim()).join("\n").trim();
      if (now && now !== texts.at(-1)) texts.push(now);
      if (now.includes(last)) { observer.disconnect(); resolve(texts); }
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    setTimeout(() => reject(new Error(`no answer with ${last}: ${JSON.stringify(texts)}`)), patience);
  }), [ANSWER, last, PATIENCE]);
}

/** What is on the page now: the board by columns, the marked tasks, what was said. */
async function look() {
  const columns = {};
  for (const column of await page.locator("[data-column]").all()) {
    const cards = await column.locator("[data-task]").all();
    columns[await column.getAttribute("data-column")] = await Promise.all(cards.map(card));
  }
  const marked = await page.locator('[data-marked="true"]').evaluateAll((cards) => cards.map((one) => one.dataset.task));
  const said = await page.getByTestId("copilot-user-message").allInnerTexts();
  const answers = await page.locator(ANSWER).allInnerTexts();
  return { columns, marked, said: said.map(text).filter(Boolean), answers: answers.map(text).filter(Boolean) };
}

async function card(one) {
  return `${await one.getAttribute("data-task")} ${await one.locator("footer [title]").getAttribute("title")}`;
}

async function picture(file) {
  await page.locator("textarea").blur();
  await page.mouse.move(0, 0);
  await page.waitForTimeout(600); // what moves comes to rest
  await page.screenshot({ path: file });
}
