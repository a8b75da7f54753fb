/** Builds responses: JSON with its status, and the headers that every response carries. */

import { writeArray } from '../../threads/sliced-json.ts'

/**
 * `nosniff` keeps browsers from guessing another content type, so that a caller's text cannot become a page.
 */
export const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Answers with JSON. */
export function answerJson(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...JSON_HEADERS, ...headers } })
}

/** Answers with JSON that is already serialized. */
export function answerJsonText(text: string): Response {
  return new Response(text, { headers: JSON_HEADERS })
}

/** Answers 204, without a body. */
export function answerNothing(): Response {
  return new Response(null, { status: 204, headers: { 'X-Content-Type-Options': 'nosniff' } })
}

/** Larger bodies are sent part by part: joining them would hold the thread. */
const JOINED_BYTES_MAX = 1024 * 1024

/** JSON as bytes, a value of an answer that is sent as it is. */
export class RawJson {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** Returns the value for other writers of JSON. */
  toJSON(): unknown {
    return JSON.parse(new TextDecoder().decode(this.bytes))
  }
}

/** Writes JSON in which any value may be RawJson, as bytes. */
export function bytesOfJson(body: unknown): Uint8Array {
  return Buffer.concat(bytesOf(partsOf(body)))
}

/** Answers with JSON in which any value may be RawJson. */
export function answerJsonWithRaw(body: unknown): Response {
  return answerBytes(bytesOf(partsOf(body)), JSON_HEADERS)
}

/** Answers with a JSON object whose last member is a long list, `name`, which is written in slices. */
export async function answerResults<Item>(
  head: object,
  items: readonly Item[],
  onWire: (item: Item) => unknown = (item) => item,
  { name = 'results', headers = {} }: ListOptions = {},
): Promise<Response> {
  const members = JSON.stringify(head).slice(1, -1)
  const list = await writeArray(items, (item) => itemParts(onWire(item)))
  const open = members === '' ? `{"${name}":` : `{${members},"${name}":`
  const parts = [Buffer.from(open), ...list, Buffer.from('}')]
  return answerBytes(parts, { ...JSON_HEADERS, ...headers })
}

type ListOptions = {
  readonly name?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Texts that follow one another become one part. */
function bytesOf(parts: readonly (Uint8Array | string)[]): readonly Uint8Array[] {
  const joined: Uint8Array[] = []
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else {
      joined.push(Buffer.from(text), part)
      text = ''
    }
  }
  return [...joined, Buffer.from(text)]
}

/** Answers with a body in parts. */
export function answerBytes(
  parts: readonly Uint8Array[],
  headers: Readonly<Record<string, string>>,
): Response {
  const byte_count = parts.reduce((sum, part) => sum + part.length, 0)
  if (byte_count <= JOINED_BYTES_MAX) return new Response(Buffer.concat(parts), { headers })
  const answer = new Response(streamOf(parts), { headers })
  IN_PARTS.add(answer)
  return answer
}

const IN_PARTS = new WeakSet<Response>()

/** Whether an answer's body is sent part by part. */
export function isInParts(answer: Response): boolean {
  return IN_PARTS.has(answer)
}

function streamOf(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = parts.values()
  return new ReadableStream({
    pull(controller) {
      const { value, done } = rest.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

/**
 * Serializes a value as JSON, in consecutive parts. RawJson near the root is copied as a part; everything else between
 * two of them is one.
 */
function partsOf(value: unknown, depth = RAW_DEPTH_MAX): readonly (Uint8Array | string)[] {
  if (value instanceof RawJson) return [value.bytes]
  if (depth === 0) return [JSON.stringify(value) ?? 'null']
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => [',', ...partsOf(item, depth - 1)])
    return ['[', ...items.slice(1), ']']
  }
  if (isPlainObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) =>
      member === undefined ? [] : [',', `${JSON.stringify(name)}:`, ...partsOf(member, depth - 1)],
    )
    return ['{', ...members.slice(1), '}']
  }
  return [JSON.stringify(value) ?? 'null']
}

/** An item of a list, whose members may be RawJson. Most have none, and the engine's own writer is faster. */
function itemParts(item: unknown): readonly (Uint8Array | string)[] {
  const has_raw = isPlainObject(item) && Object.values(item).some((one) => one instanceof RawJson)
  return has_raw ? partsOf(item) : [JSON.stringify(item) ?? 'null']
}

/** A dashboard has tiles, which have insights, which have results. */
const RAW_DEPTH_MAX = 4

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}
