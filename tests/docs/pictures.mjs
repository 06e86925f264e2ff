// Uses the console as a person does, and takes its pictures. Called by pictures.py, which starts the servers.
import { createRequire } from "node:module";
import path from "node:path";

const { server, firstStart, folder, packages, isReview } = JSON.parse(process.argv[2]);
const { chromium } = createRequire(path.join(packages, "package.json"))("playwright-core");
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const DESK = { width: 1440, height: 940 };
const PHONE = { width: 375, height: 812 };
const TIMEOUT_MS = 30_000;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
const missing = [];
const main = await seed();
const order = await seedOrder();
if (isReview) await review();
else await takePictures();
await browser.close();
if (missing.length > 0) {
  console.error(`missing: ${missing.join(", ")}`);
  process.exitCode = 1;
}

/** Threads of three users, the last of which waits for an approval; returns its id. */
async function seed() {
  const questions = [
    ["carol", "research", "Summarise the incident of Friday night"],
    ["alice", "support", "What changed in the refund policy?"],
    ["carol", "support", "Which invoices are still open for customer 1042?"],
    ["alice", "default", "What will the weather be in Hangzhou, for 3 days?"],
    ["bob", "support", "Draft an answer to ticket 1042"],
    ["bob", "research", "Wie viele Tickets sind noch offen?"],
    ["alice", "default", "Chart the revenue of 2025 by region"],
    ["bob", "default", "Scan the host web-01"],
    ["carol", "default", "What will the weather be in Oslo, for 2 days?"],
    ["alice", "research", "Compare Q3 with Q2 in one table"],
  ];
  for (const [user, agent, text] of questions) await run(user, agent, text);
  await fetch(`${server}/v1/chat/completions`, { method: "POST", headers: headers("alice"), body: JSON.stringify({ model: "default", messages: [{ role: "user", content: "What will the weather be in Rome, for 2 days?" }] }) });
  const thread = await run("alice", "default", "Chart the revenue of 2025 by region");
  return run("alice", "default", "Scan the host db-01", thread);
}

/** A run to run again, and what is remembered; returns the run. */
async function seedOrder() {
  const thread = await run("alice", "shop", "Where is my order 1042?");
  for (const [kind, text] of [["topical", "Prefers answers in one sentence."], ["operational", "Wants reports as CSV files, with amounts in EUR."]]) {
    const answer = await fetch(`${server}/copilotkit/memories`, { method: "POST", headers: headers("alice"), body: JSON.stringify({ content: text, kind, scope: "user", sourceThreadIds: [thread] }) });
    if (!answer.ok) throw new Error(`a memory: ${answer.status} ${await answer.text()}`);
  }
  const { runs } = await (await fetch(`${server}/operator/runs?agent=shop`, { headers: headers("alice") })).json();
  return runs[0];
}

function headers(user) {
  return { authorization: `Bearer key-${user}`, "content-type": "application/json", "x-rightseat": "1" };
}

async function run(user, agent, text, thread) {
  const answer = await fetch(`${server}/operator/agents/${agent}/runs`, { method: "POST", headers: headers(user), body: JSON.stringify({ text, thread }) });
  if (answer.status !== 202) throw new Error(`${text}: ${answer.status} ${await answer.text()}`);
  const started = await answer.json();
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
    const line = await (await fetch(`${server}/operator/runs/${started.run}`, { headers: headers(user) })).json();
    if (line.outcome === "done" || line.outcome === "waiting") return started.thread;
    if (line.outcome !== "running") throw new Error(`“${text}”: ${JSON.stringify(line.error)}`);
  }
  throw new Error(`“${text}” has not ended after ${TIMEOUT_MS / 1000} s`);
}

/** A page of alice's, signed in. */
async function open(route, { viewport = DESK, locale = "en-US", colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport, locale, colorScheme, deviceScaleFactor: 1 });
  context.setDefaultTimeout(TIMEOUT_MS);
  const signedIn = await context.request.post(`${server}/operator/session`, { headers: headers("alice"), data: {} });
  if (signedIn.status() !== 204) throw new Error(`signing in: ${signedIn.status()} ${await signedIn.text()}`);
  const page = await context.newPage();
  await page.goto(`${server}/console/#/${route}`);
  return page;
}

/** One that fails is named at the end; the others are taken. */
async function take(name, open) {
  try {
    await save(await open(), name);
  } catch (error) {
    missing.push(name);
    console.error(`${name}: ${error.message}`);
    for (const context of browser.contexts()) await context.close();
  }
}

async function save(page, name) {
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(1500); // the last requests and animations; the event stream stays open, so the network is never idle
  await page.screenshot({ path: path.join(folder, name) });
  console.log(name);
  await page.context().close();
}

async function takePictures() {
  for (const [name, colorScheme] of [["console.png", "light"], ["console-dark.png", "dark"]]) await take(name, () => openChat({ colorScheme }));
  await take("console-threads.png", openThreads);
  await take("console-runs.png", openRuns);
  await take("console-prompt.png", openPrompt);
  await take("console-again.png", openAgain);
  await take("console-memories.png", openMemories);
  await take("console-flow.png", openFlow);
  await take("console-plugins.png", openPlugins);
  await take("console-first-start.png", openFirstStart);
  await take("console-phone-zh.png", openPhone);
}

async function openPhone() {
  const phone = await open("approvals", { viewport: PHONE, locale: "zh-CN" });
  await phone.getByTestId("question").first().waitFor();
  return phone;
}

/** What the second call of the model was sent more than the first one. */
async function openPrompt(more) {
  const page = await open(`threads/${order.thread}`, more);
  await page.locator("#run-tab-prompt").click();
  await page.getByTestId("sent-compared").waitFor();
  return page;
}

async function openAgain(more) {
  const page = await open(`runs/${order.id}/again`, more);
  const result = page.getByRole("textbox", { name: /^Result of get_order/ });
  await result.fill((await result.inputValue()).replace("delivered", "lost"));
  await page.getByRole("button", { name: "Run again", exact: true }).click();
  await page.getByTestId("rerun-after").getByText("is lost").waitFor();
  return page;
}

async function openMemories(more) {
  const page = await open("memories", more);
  await page.getByTestId("memory").first().waitFor();
  return page;
}

async function openChat(more) {
  const page = await open(`threads/${main}`, more);
  await page.getByTestId("question").waitFor();
  await page.locator("#run-tab-timeline").click();
  await page.getByTestId("span").first().waitFor();
  await page.locator("figure.chart img").evaluate((image) => image.decode());
  await page.getByTestId("question").evaluate((question) => question.scrollIntoView({ block: "end" }));
  return page;
}

async function openThreads(more) {
  const page = await open(`threads?owner=*&thread=${encodeURIComponent(main)}`, more);
  await page.getByTestId("thread").first().waitFor();
  await page.locator("[data-testid=drawer-run] [data-kind=model]").first().waitFor();
  return page;
}

async function openRuns(more) {
  const page = await open("runs?owner=*", more);
  await page.locator('[data-testid="run"][data-kept="false"] button').click();
  await page.getByTestId("drawer-span").first().waitFor();
  return page;
}

async function openFlow(more) {
  const page = await open("flows/sales_insight/chart_sales", more);
  await page.getByTestId("node").first().waitFor();
  const runs = page.locator(".header select");
  await runs.selectOption({ index: 1 });
  await page.locator('[data-testid="node"][data-state="skipped"]').first().waitFor();
  return page;
}

async function openPlugins(more) {
  const page = await open("plugins/host_security/flows/scan_host.yaml", more);
  await page.getByRole("textbox", { name: "Question" }).fill("Scan the host db-01");
  await page.getByRole("button", { name: "Dry run", exact: true }).click();
  await page.getByTestId("sent").first().waitFor();
  return page;
}

async function openFirstStart() {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US" });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  await page.goto(firstStart);
  await page.goto(`${firstStart.split("#")[0]}#/health`);
  await page.getByRole("radio", { name: /^OpenAI/ }).check();
  await page.getByTestId("check").first().waitFor();
  return page;
}

/** Every screen in both color schemes, both languages and both widths, to be looked at. */
async function review() {
  const routes = ["chat", `threads/${main}`, "threads?owner=*", "runs?owner=*", "approvals", "flows", "flows/sales_insight/chart_sales", "plugins/host_security/flows/scan_host.yaml", "connect", "health", "metrics", "usage", "cases", "memories", `runs/${order.id}/again`, "access", "settings"];
  for (const route of routes)
    for (const colorScheme of ["light", "dark"])
      for (const locale of ["en-US", "zh-CN"])
        for (const viewport of [DESK, PHONE]) {
          const name = `${route.replace(main, "thread").replace(order.id, "run").replace(/\W+/g, "-")}-${colorScheme}-${locale}-${viewport.width}.png`;
          await take(name, () => open(route, { viewport, locale, colorScheme }));
        }
}
