// Signs in to the console with the provider, as a person does. Prints what was seen as JSON.
// node sign-in.mjs CONSOLE KEY; the packages are in the folder PACKAGES.
import { createRequire } from "node:module";
import path from "node:path";

const { chromium } = createRequire(path.join(process.env.PACKAGES, "package.json"))("playwright-core");
const [url, key] = process.argv.slice(2);
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
const complaints = [];
const sites = [];
const pages = [];

async function newPage() {
  const page = await (await browser.newContext({ locale: "en-US" })).newPage();
  page.setDefaultTimeout(60_000);
  pages.push(page);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isOurs = message.location().url.startsWith(url.replace("/console/", ""));
    const isExpected = message.text().includes("401"); // the page asks who is signed in
    if (isOurs && !isExpected && ["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("response", async (response) => {
    if (!response.url().includes("/sign-in/callback")) return;
    const headers = await response.request().allHeaders();
    sites.push([headers["sec-fetch-site"], response.status()]);
  });
  return page;
}

const begin = (page) => page.getByRole("button", { name: "Sign in with Example" }).click();
const alertOf = async (page) => (await page.getByRole("alert").innerText()).trim();

async function logIn(page, user) {
  await page.locator("[name=login]").fill(user);
  await page.locator("[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

const seen = {};
try {
  const page = await newPage();
  await page.goto(`${url}#/settings`);
  await page.getByRole("textbox", { name: "Key" }).waitFor();
  if (process.env.RIGHTSEAT_SCREENSHOT) await page.screenshot({ path: process.env.RIGHTSEAT_SCREENSHOT });
  await begin(page);
  await logIn(page, "alice");
  await page.getByRole("button", { name: "Sign out" }).first().waitFor();
  seen.address = page.url();
  seen.user = (await page.locator(".user").first().innerText()).split(" ")[0];
  const cookies = await page.context().cookies(url);
  seen.cookies = cookies.filter(({ name }) => name.startsWith("rightseat"))
    .map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]);
  seen.storage = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.getByRole("button", { name: /sign me out/ }).click();
  await page.getByRole("button", { name: "Sign in with Example" }).waitFor();
  seen.left = page.url();
  await page.reload();
  await begin(page);
  await logIn(page, "mallory");
  seen.noAccess = await alertOf(page);
  await page.getByRole("textbox", { name: "Key" }).fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).first().waitFor();
  seen.withKey = (await page.locator(".user").first().innerText()).split(" ")[0];

  const other = await newPage();
  await other.goto(url);
  await begin(other);
  await other.getByRole("link", { name: /Cancel/ }).click();
  seen.denied = await alertOf(other);
  await other.goto(`${url}#/sign-in?problem=<script>`);
  await other.reload();
  seen.unknown = await alertOf(other);
} catch (error) {
  const texts = pages.map(async (page) => `${page.url()}: ${await page.locator("body").innerText()}`);
  seen.failure = [error?.stack ?? error, ...await Promise.all(texts)].join("\n");
}
console.log(JSON.stringify({ ...seen, sites, complaints }));
await browser.close();
