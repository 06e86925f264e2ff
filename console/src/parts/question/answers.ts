/** What the answer to a question is made of: the payloads of approvals, and the fields of forms. */
import type { ApprovalText, Json, JsonObject } from "../../log/events";
import { isObject, type FlowRequest } from "../../log/fold";

export interface QuestionData {
  id: string;
  thread: string;
  run: string;
  reason: string;
  message: string;
  title?: string;
  translations?: Record<string, ApprovalText>;
  schema: Json;
  expiresAt: string | null;
  call: { name: string; arguments: string } | null;
  request: FlowRequest | null;
}

export const isApproval = (question: QuestionData) => question.reason === "approval_required";

const propertiesOf = (schema: Json): JsonObject =>
  isObject(schema) && isObject(schema.properties) ? schema.properties : {};

/** The texts in the user's language, where the tool has them. */
export function textsIn(question: QuestionData, language: string): { title: string; message: string } {
  const { translations = {}, title = "", message } = question;
  const found = translations[language] ?? translations[language.split("-")[0] ?? ""];
  return { title: found?.title ?? title, message: found?.message ?? message };
}

/** The question that the server asks for a tool without one of its own. */
export const isDefaultQuestion = ({ call, message }: QuestionData) =>
  call !== null && message === `May ${call.name} be run?`;

/** In the form that the schema names, else `true` or `false`; a denial with a reason is an object. */
export function decisionPayload(schema: Json, isAllowed: boolean, reason = ""): Json {
  const properties = propertiesOf(schema);
  const why: JsonObject = reason.trim() === "" || isAllowed ? {} : { reason: reason.trim() };
  if ("decision" in properties) return { decision: isAllowed ? "allow" : "deny", ...why };
  if ("approved" in properties || "reason" in why) return { approved: isAllowed, ...why };
  return isAllowed;
}

export const editPayload = (changed: JsonObject): Json => ({ decision: "edit", arguments: changed });

/** The arguments that would be sent, if they are known. */
export function argumentsOf({ call, request }: QuestionData): JsonObject | null {
  if (!call) return request?.arguments ?? null;
  try {
    const value = JSON.parse(call.arguments || "{}") as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function canEdit(question: QuestionData): boolean {
  return "arguments" in propertiesOf(question.schema) && argumentsOf(question) !== null;
}

export type FieldKind = "text" | "number" | "boolean" | "enum" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  description: string;
  isRequired: boolean;
  options: Json[];
  initial: Json | undefined;
}

/** The name of the only field of a schema that is no object: its value is the payload. */
export const WHOLE = "";

/** One field for each property; one for the whole answer if the schema is no object. */
export function fieldsOf(schema: Json): Field[] {
  if (!isObject(schema)) return [makeField(WHOLE, {}, true)];
  if (schema.type !== "object" && !isObject(schema.properties)) return [makeField(WHOLE, schema, true)];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(propertiesOf(schema)).map(([name, property]) =>
    makeField(name, isObject(property) ? property : {}, required.includes(name)),
  );
}

/** Fields that hold arguments, for changing them. */
export function fieldsFor(values: JsonObject): Field[] {
  return Object.entries(values).map(([name, value]) => ({
    name,
    kind: kindOfValue(value),
    description: "",
    isRequired: false,
    options: [],
    initial: value,
  }));
}

function makeField(name: string, schema: JsonObject, isRequired: boolean): Field {
  const options = Array.isArray(schema.enum) ? schema.enum : [];
  const description = typeof schema.description === "string" ? schema.description : "";
  return { name, kind: kindOf(schema, options), description, isRequired, options, initial: schema.default };
}

function kindOf(schema: JsonObject, options: Json[]): FieldKind {
  if (options.length > 0) return "enum";
  const types = [schema.type].flat().filter((type) => type !== "null");
  if (types.length > 1) return "json";
  if (types[0] === "number" || types[0] === "integer") return "number";
  if (types[0] === "boolean") return "boolean";
  return types[0] === "object" || types[0] === "array" ? "json" : "text";
}

function kindOfValue(value: Json): FieldKind {
  if (typeof value === "string") return "text";
  if (typeof value === "number") return "number";
  return typeof value === "boolean" ? "boolean" : "json";
}

/** What a field shows at first. */
export function initialText({ kind, initial }: Field): string {
  if (initial === undefined) return kind === "boolean" ? "false" : "";
  return typeof initial === "string" && kind !== "json" ? initial : JSON.stringify(initial);
}

export type FieldProblem = "required" | "notNumber" | "notJson";
export type FieldValue = { value: Json | undefined } | { problem: FieldProblem };

export function readField(field: Field, text: string): FieldValue {
  if (text === "") return field.isRequired ? { problem: "required" } : { value: undefined };
  if (field.kind === "number")
    return Number.isFinite(Number(text)) ? { value: Number(text) } : { problem: "notNumber" };
  if (field.kind === "boolean") return { value: text === "true" };
  if (field.kind === "enum") return { value: field.options.find((option) => optionText(option) === text) };
  if (field.kind === "text") return { value: text };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { problem: "notJson" };
  }
}

export const optionText = (option: Json) => (typeof option === "string" ? option : JSON.stringify(option));

/** The payload of a form, or its problems by field. */
export function readForm(
  fields: Field[],
  texts: Record<string, string>,
): { payload: Json } | { problems: Record<string, FieldProblem> } {
  const problems: Record<string, FieldProblem> = {};
  const values: JsonObject = {};
  for (const field of fields) {
    const read = readField(field, texts[field.name] ?? "");
    if ("problem" in read) problems[field.name] = read.problem;
    else if (read.value !== undefined) values[field.name] = read.value;
  }
  if (Object.keys(problems).length > 0) return { problems };
  return { payload: fields[0]?.name === WHOLE ? (values[WHOLE] ?? null) : values };
}
