// Asks in the page of a snippet, and reloads it: node react-snippet.mjs FOLDER URL. Prints what the page shows, as JSON.
import { ANSWER, open, text } from "./browser.mjs";

const [folder, url] = process.argv.slice(2);
const { browser, page, complaints } = await open(folder, { width: 900, height: 700 });
const END = "use no file."; // the last words of the answer

try {
  await page.goto(url);
  const box = page.getByRole("textbox");
  await box.fill("Where is the list.");
  await box.press("Enter");
  const answer = page.locator(ANSWER).filter({ hasText: END });
  await answer.waitFor();
  const first = text(await answer.innerText());
  await page.reload();
  await answer.waitFor();
  console.log(JSON.stringify({ first, reloaded: text(await answer.innerText()), complaints }));
} finally {
  await browser.close();
}
