// What a run did, when, and what it cost: the log, drawn.
import { scrollToEnd } from "../lib/console.mjs";
import { USAGE } from "../lib/fake-openai.mjs";
import { alone, beyond, measureBest } from "../lib/floors.mjs";
import { BIG } from "../lib/seed.mjs";
import { expect, limit, near, same, show, sleep, until, within } from "../lib/util.mjs";
import { command } from "../lib/wire.mjs";

/** Spans and totals as the log has them. */
export function ofLog(events) {
  const spans = new Map(), totals = { calls: 0, in: 0, out: 0 };
  for (const event of events) {
    if (event.type === "SpanStarted") spans.set(event.span, { span: event.span, kind: event.kind, name: event.name, from: event.at, to: null, parent: event.parent ?? null });
    if (event.type === "SpanEnded") {
      const span = spans.get(event.span);
      span.to = event.at;
      if (span.kind === "model") { totals.calls++; totals.in += event.usage?.input_tokens ?? 0; totals.out += event.usage?.output_tokens ?? 0; }
    }
  }
  return { spans: [...spans.values()], totals };
}

const scrollToTop = (page) => page.evaluate(async (selector) => {
  let box = document.querySelector(selector);
  while (box && !(box.scrollHeight > box.clientHeight + 20 && /auto|scroll/.test(getComputedStyle(box).overflowY))) box = box.parentElement;
  (box ?? document.scrollingElement).scrollTop = 0;
  for (let n = 0; n < 2; n++) await new Promise((r) => requestAnimationFrame(r));
}, '[data-testid="span"]');

const shows = (page, needle) => page.getByTestId("entry").evaluateAll((all, needle) => all.some((n) => n.textContent.includes(needle)), needle);
/** Types the word, and returns after how many ms an event with it is shown. */
const search = (box, needle) => box.evaluate(async (input, needle) => {
  const begun = performance.now();
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, needle);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  while (performance.now() - begun < 20_000) {
    if ([...document.querySelectorAll('[data-testid="entry"]')].some((n) => n.textContent.includes(needle))) return performance.now() - begun;
    await new Promise((r) => requestAnimationFrame(r));
  }
  return Infinity;
}, needle);

export const timeline = [
  { name: "timeline-is-the-log", slice: 2, ownServer: true, about: "three model calls, two tools side by side, a flow: every span is one of the log; totals are its sums", async run(world) {
    const server = await world.keyed(), key = world.unique();
    const tab = await world.browser({ user: "alice" });
    await tab.say(`all in all [${key}]`);
    await tab.sees("All of it is done.");
    await tab.ended("done");
    const { run } = await tab.run();
    const replayed = await command(["replay", run, "--json", "--config", server.config], { env: server.env });
    expect(replayed.code === 0, "rightseat replay --json to work", replayed.stderr.slice(-400));
    const events = replayed.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).map((one) => one.event ?? one);
    const log = ofLog(events);
    same(log.totals, { calls: 3, in: 3 * USAGE.in, out: 3 * USAGE.out }, "the sums over the log, and what the fake has reported");
    await until(async () => (await tab.spans()).filter((s) => s.kind !== "wait").length === log.spans.length, `${log.spans.length} spans on the page`, { timeout: 4000, got: async () => (await tab.spans()).map((s) => `${s.kind} ${s.name}`) });
    const plain = (list) => list.map((s) => show([s.span, s.kind, s.name, s.from, s.to, s.parent], 300)).sort();
    same(plain(await tab.spans()), plain(log.spans), "the spans of the page");
    const kinds = log.spans.reduce((sum, s) => ({ ...sum, [s.kind]: (sum[s.kind] ?? 0) + 1 }), {});
    expect(kinds.model === 3 && kinds.tool === 3 && kinds.step === 5, "3 models, 3 tools (one is the flow), 5 steps", kinds);
    const [one, two] = log.spans.filter((s) => s.name === "getWeather");
    expect(one.from < two.to && two.from < one.to, "the two tools side by side", [one, two]);
    same([await tab.total("model-calls"), await tab.total("tokens-in"), await tab.total("tokens-out")], [3, 33, 21], "the totals on the page");
    expect(near(await tab.total("cost"), 0.000075, 1e-9), "a cost of 0.000075", await tab.total("cost"));
    const line = await world.api_(server, "alice").ok(`runs/${run}`);
    same([line.model_calls, line.tokens?.in, line.tokens?.out], [3, 33, 21], "the totals of runs/{id}");
    const rows = await tab.page.getByRole("tree", { name: "Timeline", exact: true }).getByTestId("span").count();
    same(rows, log.spans.length, "spans inside of the tree");
  } },

  { name: "timeline-waits", slice: 2, about: "a question answered after 2 s is a wait of 2 s between two runs, and no time of the run's", async run(world) {
    const tab = await world.browser({ user: "alice" });
    const begun = Date.now();
    await tab.say(`delete ${world.unique("file")}`);
    const question = await tab.question();
    const seen = Date.now();
    await sleep(2000);
    await tab.allow(question);
    const waited = Date.now() - seen;
    await tab.ended("done");
    const whole = Date.now() - begun;
    await until(async () => (await tab.spans()).some((s) => s.kind === "wait" && s.to), "a wait span", { timeout: 3000, got: () => tab.spans() });
    const spans = await tab.spans(), waits = spans.filter((s) => s.kind === "wait"), runs = spans.filter((s) => s.kind === "run");
    same(waits.length, 1, "wait spans");
    const long = waits[0].to - waits[0].from;
    expect(near(long, 2000, limit(300)) || near(long, waited, limit(300)), "a wait of 2 s, 0.3 more or less", `${long} ms, ${waited} ms on the page`);
    same(runs.length, 2, "run spans beside it");
    expect(Math.max(...runs.map((r) => r.from)) >= waits[0].to - 50 && Math.min(...runs.map((r) => r.to)) <= waits[0].from + 50, "the wait between the two runs", spans);
    expect(near(await tab.total("waited"), long, 300), "total-waited to be the same", await tab.total("waited"));
    expect((await tab.total("time")) <= whole - 1700, "a total-time without the wait", `${await tab.total("time")} ms of ${whole}`);
  } },

  { name: "timeline-50000", slice: 2, ownServer: true, about: "a run of 50,000 events: drawn in 1.5 s, scrolls, few rows, right sums, found at once", async run(world) {
    const server = await world.seeded();
    const tab = await world.browser({ user: "alice", at: server.url });
    const drawn = () => tab.page.evaluate(() => performance.getEntriesByName("rightseat:run-drawn").map((mark) => mark.startTime));
    const leave = async (round) => { if (round > 0) await tab.open("chat"); return tab.page; };
    within(await measureBest(leave, limit(1500), async () => {
      const before = (await drawn()).length, begun = await tab.page.evaluate(() => performance.now());
      await tab.page.goto(tab.home + "#/threads/" + BIG.thread);
      await until(async () => (await drawn()).length > before, "the mark rightseat:run-drawn", { timeout: 30_000, got: () => tab.describe() });
      return (await drawn()).at(-1) - begun;
    }, beyond(limit(1))), 1500, "the run drawn");
    await tab.page.getByTestId("span").first().waitFor();
    same([await tab.total("model-calls"), await tab.total("tokens-in"), await tab.total("tokens-out")], [BIG.modelCalls, BIG.in, BIG.out], "the totals");
    const begin = async () => { await scrollToTop(tab.page); return tab.page; };
    within(await measureBest(begin, limit(20), async () => {
      const scrolled = await scrollToEnd(tab.page, '[data-testid="span"]');
      expect(scrolled.frames >= 20 && scrolled.atEnd, "a timeline that scrolls to its end", scrolled);
      return scrolled.mean;
    }, alone), 20, "the mean frame while it scrolls");
    const rows = await tab.page.getByTestId("span").count();
    expect(rows > 5 && rows <= 200, "at most 200 spans in the page", rows);
    const last = (await tab.spans()).at(-1);
    same(last.span, `x${BIG.modelCalls}`, "the last span");
    await tab.page.getByRole("tab", { name: "Events", exact: true }).click();
    const box = tab.page.getByRole("searchbox", { name: "Search events", exact: true });
    await box.waitFor();
    const clear = async () => { await box.fill(""); await until(async () => !(await shows(tab.page, BIG.needle)), "the first events"); return tab.page; };
    within(await measureBest(clear, limit(300), () => search(box, BIG.needle)), 300, "the last event found");
  } },
];
