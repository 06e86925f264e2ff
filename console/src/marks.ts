/** Marks on the browser's clock: when a screen can be used, when the first text is drawn, when a thread is drawn. */
type Mark = "ready" | "first-piece" | "run-drawn";

export const mark = (name: Mark) => void performance.mark(`rightseat:${name}`);
