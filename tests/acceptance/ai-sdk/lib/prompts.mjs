// What the fake model says, by the last user message (README, "Prompts").
import { planFailure, planUnanswered, readQuestion, textOf } from "../../_lib/fake-openai.mjs";

export function plan(body) {
  const question = readQuestion(body), { said, says, key, results, before, parts } = question;
  const images = parts.filter((part) => part.type === "image_url" && part.image_url?.url?.startsWith("data:image/")).length;
  const files = parts.filter((part) => part.type === "file" && part.file?.file_data).length;
  const call = (...calls) => [{ calls }];

  const failure = planUnanswered(body) ?? planFailure(question);
  if (failure) return failure;
  if (results.length) return { key, steps: [{ text: "Done: " + results.map((r) => r.slice(0, 90)).join(" | ") }] };
  if (says("weather")) return { key, steps: [{ text: "Let me check. " }, ...call(["getWeather", { city: "Paris" }])] };
  if (says("explode")) return { key, steps: call(["explode", {}]) };
  if (says("approve")) return { key, steps: call(["deleteFile", { path: "report.txt" }]) };
  if (says("parallel")) return { key, steps: call(["setColor", { color: "teal" }], ["addItem", { item: "milk \"1 l\" ü" }], ["getWeather", { city: "Oslo" }]) };
  if (says("tool")) return { key, steps: [{ text: "As you wish. " }, ...call(["setColor", { color: "rebeccapurple" }])] };
  if (says("think")) return { key, steps: [{ think: "First I think about it. Then I know." }, { text: "I have thought." }] };
  if (says("slow")) return { key, steps: [{ hold: key }, { text: "finished." }] };
  if (says("recall")) return { key, steps: [{ text: "I have: " + before.map((m) => `${m.role}=${textOf(m).slice(0, 80)}`).join(" / ") + "." }] };
  if (says("cut short")) return { key, finish: "length", steps: [{ text: "This is only the" }] };
  if (images || files) return { key, steps: [{ text: `I see ${images} image and ${files} file.` }] };
  return { key, steps: [{ text: `Hello there, this is a streamed answer to ${said || "nothing"}.` }] };
}
