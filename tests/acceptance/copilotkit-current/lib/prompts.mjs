// What the fake model says, by the last user message (README, "Prompts").
import { planFailure, planUnanswered, readQuestion } from "../../_lib/fake-openai.mjs";

export function plan(body) {
  const question = readQuestion(body), { said, says, key, results, parts } = question;
  const images = parts.filter((part) => part.type === "image_url" && part.image_url?.url?.startsWith("data:image/")).length;
  const offered = (body.tools ?? []).map((tool) => tool.function?.name);
  const call = (...calls) => [{ calls }];

  const unanswered = planUnanswered(body);
  if (unanswered) return unanswered;
  if (offered.includes("copilotkitSuggest")) return { key, steps: call(["copilotkitSuggest", { suggestions: [{ title: "Say hello", message: "hello" }, { title: "Paint it", message: "tool please" }] }]) };
  const failure = planFailure(question);
  if (failure) return failure;
  if (results.length) return { key, steps: [{ text: "Done: " + results.map((r) => r.slice(0, 60)).join(" | ") }] };
  if (says("weather")) return { key, steps: [{ text: "Let me check. " }, ...call(["getWeather", { city: "Paris" }])] };
  if (says("approve")) return { key, steps: call(["deleteFile", { path: "report.txt" }]) };
  if (says("confirm")) return { key, steps: call(["confirmBooking", { seat: "12A" }]) };
  if (says("parallel")) return { key, steps: call(["setColor", { color: "teal" }], ["addItem", { item: "milk" }], ["getWeather", { city: "Oslo" }]) };
  if (says("tool")) return { key, steps: call(["setColor", { color: "rebeccapurple" }]) };
  if (says("state")) return { key, steps: call(["AGUISendStateSnapshot", { snapshot: { steps: [{ title: "one", done: false }], count: 1 } }], ["AGUISendStateDelta", { delta: [{ op: "replace", path: "/count", value: 2 }] }]) };
  if (says("card")) return { key, steps: call(["show_card", { title: "Hi" }]) };
  if (says("slow")) return { key, steps: [{ hold: key }, { text: "finished." }] };
  if (images) return { key, steps: [{ text: `I see ${images} image.` }] };
  return { key, steps: [{ text: `Hello there, this is a streamed answer to ${said || "nothing"}.` }] };
}
