import { expect, test } from "vitest";
import {
  argumentsOf,
  canEdit,
  decisionPayload,
  fieldsFor,
  fieldsOf,
  readForm,
  textsIn,
  type QuestionData,
} from "../src/parts/question/answers";

const DECISION = { type: "object", properties: { decision: { enum: ["allow", "edit", "deny"] }, arguments: {} } };
const question: QuestionData = {
  id: "i1",
  thread: "t1",
  run: "r1",
  reason: "approval_required",
  message: "Delete the file?",
  schema: null,
  expiresAt: null,
  call: { name: "deleteFile", arguments: '{"path":"a.txt"}' },
  request: null,
};

test("a decision has the form that the schema names", () => {
  expect(decisionPayload(null, true)).toBe(true);
  expect(decisionPayload(null, false)).toBe(false);
  expect(decisionPayload(DECISION, true)).toEqual({ decision: "allow" });
  expect(decisionPayload({ properties: { approved: {} } }, false)).toEqual({ approved: false });
});

test("arguments can be edited only where the schema takes them", () => {
  expect(canEdit(question)).toBe(false);
  expect(canEdit({ ...question, schema: DECISION })).toBe(true);
  expect(canEdit({ ...question, schema: DECISION, call: null })).toBe(false);
  expect(argumentsOf({ ...question, call: { name: "x", arguments: "[broken" } })).toBeNull();
});

test("a form has a field for each property, and gives values of their types", () => {
  const fields = fieldsOf({
    type: "object",
    properties: {
      size: { type: "string", enum: ["small", "large"] },
      count: { type: "integer" },
      gift: { type: "boolean" },
      note: { type: "string" },
      tags: { type: "array" },
    },
    required: ["size", "count"],
  });

  expect(fields.map(({ kind }) => kind)).toEqual(["enum", "number", "boolean", "text", "json"]);
  expect(readForm(fields, { size: "large", count: "2", gift: "false", note: "", tags: '["a"]' })).toEqual({
    payload: { size: "large", count: 2, gift: false, tags: ["a"] },
  });
  expect(readForm(fields, { size: "", count: "two", gift: "false", tags: "[" })).toEqual({
    problems: { size: "required", count: "notNumber", tags: "notJson" },
  });
});

test("a schema that is no object has one field, whose value is the payload", () => {
  const outcome = fieldsOf({ type: "string", enum: ["repeat", "skip", "stop"] });

  expect(readForm(outcome, { "": "skip" })).toEqual({ payload: "skip" });
  expect(readForm(fieldsOf(null), { "": "as you like" })).toEqual({ payload: "as you like" });
});

test("edited arguments keep the types of their values", () => {
  const fields = fieldsFor({ path: "/old", depth: 2, force: true, tags: ["a"] });

  expect(readForm(fields, { path: "/new", depth: "3", force: "false", tags: "[]" })).toEqual({
    payload: { path: "/new", depth: 3, force: false, tags: [] },
  });
});

test("a question is asked in the user's language, where the tool has it", () => {
  const question = {
    title: "Refund an order",
    message: "Refund order 1042?",
    translations: { "zh-CN": { title: "订单退款", message: "为订单 1042 退款？" } },
  } as unknown as QuestionData;

  expect(textsIn(question, "zh-CN")).toEqual({ title: "订单退款", message: "为订单 1042 退款？" });
  expect(textsIn(question, "en")).toEqual({ title: "Refund an order", message: "Refund order 1042?" });
});

test("a denial may have a reason, in every form that the server reads as a denial", () => {
  expect(decisionPayload(null, false, " Ask legal ")).toEqual({ approved: false, reason: "Ask legal" });
  expect(decisionPayload({ properties: { decision: {} } }, false, "No")).toEqual({ decision: "deny", reason: "No" });
  expect([decisionPayload(null, false, " "), decisionPayload(null, true, "why not")]).toEqual([false, true]);
});
