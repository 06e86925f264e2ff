// Uses examples/plugins-app as a person does, and tells in JSON what was seen: node plugins-app.mjs FOLDER URL CSV
// FOLDER has the node_modules of the application. RIGHTSEAT_SCREENSHOTS names a folder for pictures of the page.
import fs from "node:fs/promises";
import path from "node:path";
import { ANSWER, open, text } from "./browser.mjs";

const [folder, url, csv] = process.argv.slice(2);
const { browser, page, complaints } = await open(folder, { width: 1180, height: 940 });

const seen = {};
try {
  await page.goto(url);
  await page.getByTestId("copilot-suggestion").filter({ hasText: "Chart the revenue" }).click();
  await status("succeeded");
  seen.suggested = await suggestions();
  seen.chart = await chart();
  seen.steps = await steps();
  await picture("plugins-chart.png");

  await say("Scan the host db-01");
  await page.getByTestId("question").waitFor();
  seen.whileAsked = await page.getByTestId("copilot-suggestion").allInnerTexts();
  seen.question = text(await page.getByTestId("question").innerText());
  await status("waiting for you");
  await picture("plugins-approval.png");
  await page.getByRole("button", { name: "Allow once" }).click();
  await status("succeeded");
  seen.scanned = await last();

  await say("Scan the host web-01");
  await page.getByRole("button", { name: "Do not allow" }).click();
  await status("failed_handled");
  seen.refused = await last();

  await say("What will the weather be?");
  seen.form = text(await page.getByTestId("question").innerText());
  await page.locator('input[name="city"]').fill("Hangzhou");
  await picture("plugins-form.png");
  const quiet = complaints.length;
  await say("Scan the host db-01");
  seen.beside = text(await page.getByRole("alert").filter({ hasText: "Dismiss" }).innerText());
  await picture("plugins-problem.png");
  await page.getByRole("button", { name: "Dismiss" }).click();
  complaints.length = quiet; // CopilotKit logs this error
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await status("succeeded");
  seen.weather = await last();

  await page.locator('input[type="file"]').setInputFiles(csv);
  await say("Convert this CSV file to Markdown");
  await status("succeeded");
  seen.file = await last();
  const downloading = page.waitForEvent("download");
  await page.getByTestId("file").click();
  const download = await downloading;
  seen.download = { name: download.suggestedFilename(), content: await fs.readFile(await download.path(), "utf8") };
  await page.locator(`${ANSWER} a, ${ANSWER} button`, { hasText: "a.md" }).last().scrollIntoViewIfNeeded();
  await picture("plugins-file.png");

  const before = await answers();
  await page.reload();
  await page.locator(ANSWER, { hasText: "a.md" }).waitFor();
  seen.suggestedAgain = await suggestions();
  seen.reloaded = { same: JSON.stringify(await answers()) === JSON.stringify(before), chart: await chart() };
} catch (error) {
  await picture("plugins-failure.png").catch(() => {});
  seen.failure = `${error.message}\n${JSON.stringify(await answers().catch(String))}`;
}
seen.complaints = complaints;
await browser.close();
console.log(JSON.stringify(seen));

async function say(words) {
  await page.locator("textarea").fill(words);
  await page.getByTestId("copilot-send-button").and(page.locator(":enabled")).waitFor();
  await page.locator("textarea").press("Enter");
}

/** The flow says this of itself, and nothing is under way. */
async function status(words) {
  await page.getByTestId("status").filter({ hasText: words }).waitFor();
  await page.locator('aside[data-running="false"]').waitFor();
}

/** The picture in the answer, once the browser has drawn it. */
async function chart() {
  const image = page.locator(`${ANSWER} img`).first();
  await image.waitFor();
  await image.evaluate((one) => one.complete || new Promise((resolve, reject) => { one.onload = resolve; one.onerror = reject; }));
  return image.evaluate((one) => ({ name: one.alt, width: one.naturalWidth, kind: one.src.split(".").pop() }));
}

async function steps() {
  return (await page.locator("aside li b").allInnerTexts()).map(text);
}

async function suggestions() {
  await page.getByTestId("copilot-suggestion").first().waitFor();
  return (await page.getByTestId("copilot-suggestion").allInnerTexts()).map(text);
}

async function answers() {
  return (await page.locator(ANSWER).allInnerTexts()).map(text).filter(Boolean);
}

async function last() {
  return (await answers()).at(-1);
}

async function picture(name) {
  if (!process.env.RIGHTSEAT_SCREENSHOTS) return;
  await page.mouse.move(0, 0);
  await page.waitForTimeout(600); // what moves comes to rest
  await page.screenshot({ path: path.join(process.env.RIGHTSEAT_SCREENSHOTS, name) });
}
