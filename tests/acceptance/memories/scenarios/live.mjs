// Lists that follow changes of other windows.
import { ok, send } from "../lib/http.mjs";

export const live = [
  { name: "live-memories", about: "a page may follow the list of memories", async run({ url, user }) {
    ok(await send(url, user(), "POST", "memories/subscribe", {}), "POST /memories/subscribe");
  } },
  { name: "live-threads", about: "a page may follow the list of threads", async run({ url, user }) {
    ok(await send(url, user(), "POST", "threads/subscribe", {}), "POST /threads/subscribe");
  } },
];
