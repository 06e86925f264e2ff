// Clicks the button of the code for React: node snippet-app.mjs FOLDER URL. Prints what the page shows, as JSON.
import { open, text } from "./browser.mjs";

const [folder, url] = process.argv.slice(2);
const { browser, page, complaints } = await open(folder, { width: 600, height: 400 });

try {
  await page.goto(url);
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("assistant:").or(page.getByRole("alert")).waitFor();
  console.log(JSON.stringify({ shown: (await page.locator("p").allInnerTexts()).map(text), complaints }));
} finally {
  await browser.close();
}
