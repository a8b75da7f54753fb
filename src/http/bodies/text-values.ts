/**
 * Reads members of a body that were sent as texts: clients write `"true"` and `"1000"`, and a form has nothing but
 * texts. The schema decides the value of a text.
 */
import type { TSchema } from 'elysia'

const YES = /^(?:true|t|yes|y|on|1)$/i
const NO = /^(?:false|f|no|n|off|0)$/i
/** A number as text. Each part has a longest length, so that reading is cheap; a double has 25 characters at most. */
const NUMBER = /^\s{0,9}[+-]?\d{1,400}(?:\.\d{0,400})?(?:e[+-]?\d{1,4})?\s{0,9}$/i

type MemberSchema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly MemberSchema[]
  readonly items?: MemberSchema
  readonly properties?: Readonly<Record<string, MemberSchema>>
}

/**
 * Replaces texts by the booleans and numbers that the schema wants, in members right below the body, in place.
 * `{"pinned":"true"}` → `{"pinned":true}`. Other texts stay, and the schema refuses them.
 */
export function replaceTexts(schema: TSchema, body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const members = body as { [name: string]: unknown }
  for (const [name, member] of Object.entries((schema as MemberSchema).properties ?? {})) {
    if (!Object.hasOwn(members, name)) continue
    const value = members[name]
    if (typeof value === 'string') members[name] = valueOf(member, value)
  }
}

/**
 * Builds a body from a form's fields: lists from repeated fields or from JSON, objects from JSON, the rest as
 * `replaceTexts` does. Of several values for one thing the last counts.
 */
export function readFields(
  schema: TSchema,
  fields: readonly (readonly [name: string, text: string])[],
): Record<string, unknown> {
  const { properties = {} } = schema as MemberSchema
  const by_name = Map.groupBy(fields, ([name]) => name)
  const members = [...by_name].map(([name, sent]) => {
    const texts = sent.map(([, text]) => text)
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined
    return [name, member === undefined ? texts.at(-1) : fieldValue(member, texts)] as const
  })
  return Object.fromEntries(members)
}

function fieldValue(schema: MemberSchema, texts: readonly string[]): unknown {
  const text = texts.at(-1) ?? ''
  const kinds = alternativesOf(schema)
  const list = kinds.find(({ type }) => type === 'array')
  if (list !== undefined) {
    const parsed = texts.length === 1 ? parseJson(text) : null
    if (Array.isArray(parsed)) return parsed
    return texts.map((one) => valueOf(list.items ?? {}, one))
  }
  const is_json = kinds.some(({ type, const: only, enum: choices }) => {
    const is_any = type === undefined && only === undefined && choices === undefined
    return type === 'object' || is_any
  })
  if (is_json && text !== '') return text === 'null' ? null : (parseJson(text) ?? text)
  if (text === '' && kinds.some(({ type }) => type === 'null')) return null
  return valueOf(schema, text)
}

/** The value of a text by its schema; the text itself if the schema takes texts, or no value fits. */
function valueOf(schema: MemberSchema, text: string): unknown {
  const kinds = alternativesOf(schema)
  if (kinds.some((kind) => takesText(kind, text))) return text
  if (kinds.some(({ type }) => type === 'boolean')) {
    if (YES.test(text)) return true
    if (NO.test(text)) return false
  }
  return kinds.some(takesNumber) && NUMBER.test(text) ? Number(text) : text
}

function takesText({ type, const: only, enum: choices }: MemberSchema, text: string): boolean {
  if (only !== undefined) return only === text
  if (choices !== undefined) return choices.includes(text)
  return type === 'string' || type === undefined
}

function takesNumber({ type, const: only, enum: choices }: MemberSchema): boolean {
  if (only !== undefined) return typeof only === 'number'
  if (choices !== undefined) return choices.some((choice) => typeof choice === 'number')
  return type === 'number'
}

/** The alternatives of a union, unions within it included. */
function alternativesOf(schema: MemberSchema): readonly MemberSchema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(alternativesOf)
}

/** Returns null for a text that is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
