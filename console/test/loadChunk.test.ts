import { expect, test, vi } from "vitest";
import { ChunkUnreachable, isReplaced, loadChunk } from "../src/loadChunk";

const page = (script: string) => () =>
  Promise.resolve(new Response(`<script type="module" src="./assets/${script}"></script>`));
const ours = () => ["http://localhost/console/assets/index-old.js"];

test("a page that loads another script is a new version", async () => {
  expect(await isReplaced(page("index-new.js"), ours)).toBe(true);
  expect(await isReplaced(page("index-old.js"), ours)).toBe(false);
});

test("a server that cannot be reached, or fails, has no new version", async () => {
  expect(await isReplaced(() => Promise.reject(new TypeError("Failed to fetch")), ours)).toBe(false);
  expect(await isReplaced(() => Promise.resolve(new Response("", { status: 502 })), ours)).toBe(false);
});

test("a file that fails once is loaded a second time", async () => {
  const load = vi.fn().mockRejectedValueOnce(new TypeError("Failed to fetch")).mockResolvedValue("loaded");

  expect(await loadChunk(load)).toBe("loaded");
});

test("a file that cannot be loaded says that the server is away", async () => {
  await expect(loadChunk(() => Promise.reject(new TypeError("Failed to fetch")))).rejects.toBeInstanceOf(
    ChunkUnreachable,
  );
});
