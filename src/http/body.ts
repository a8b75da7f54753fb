/** Reads request bodies: never more than the limit, JSON only as well-formed UTF-8, checked against a schema. */
import type { Static, TSchema } from 'elysia'
import { Refusal } from '../errors.ts'
import { resumeWork } from '../threads/this-thread.ts'
import type { Validator } from './shape.ts'

/** How much may be received. */
export type BodyLimits = {
  /** One body. */
  readonly body_bytes_max: number
  /** All bodies that are coming in at the moment, small ones aside. */
  readonly receiving_bytes_max: number
}

/** Reads the bodies of one server, which share its memory. */
export type Bodies = {
  /**
   * Reads a body as bytes. Refuses one above the limit before it has arrived, also when its length is not
   * announced, and a large one while too many others are coming in. Small ones that come in at once are handed on
   * together.
   */
  read(request: Request): Promise<Uint8Array<ArrayBuffer>>
}

/** A management body deeper than this is nobody's: checks and the rooms behind recurse over it. */
const DEPTH_MAX = 128
/** Smaller bodies are not counted: their sum is bounded by the connections, and counting costs each of them. */
const SMALL_BYTES_MAX = 1024 * 1024
const EMPTY = new Uint8Array(0)

/** Makes the reader of one server. */
export function limitBodies({ body_bytes_max, receiving_bytes_max }: BodyLimits): Bodies {
  let receiving_bytes = 0
  const allReceived = turnEnds()
  const receive = (bytes: number): void => {
    if (receiving_bytes + bytes > receiving_bytes_max) throw tooMuchAtOnce()
    receiving_bytes += bytes
  }

  async function readSmall(request: Request): Promise<Uint8Array<ArrayBuffer>> {
    const buffer = await request.arrayBuffer().catch(refuseBroken)
    await allReceived()
    return new Uint8Array(buffer)
  }

  async function readLarge(request: Request, length: number): Promise<Uint8Array<ArrayBuffer>> {
    receive(length)
    try {
      return new Uint8Array(await request.arrayBuffer().catch(refuseBroken))
    } finally {
      receiving_bytes -= length
    }
  }

  async function readStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = []
    let length = 0
    let received = 0
    try {
      for await (const chunk of stream) {
        length += chunk.length
        if (length > body_bytes_max) throw tooLarge()
        if (length > SMALL_BYTES_MAX) {
          receive(length - received)
          received = length
        }
        chunks.push(chunk)
      }
    } catch (error) {
      return refuseBroken(error)
    } finally {
      receiving_bytes -= received
    }
    return joinChunks(chunks, length)
  }

  return {
    async read(request) {
      const announced = request.headers.get('content-length')
      if (announced === null) return request.body === null ? EMPTY : readStream(request.body)
      const length = Number(announced)
      if (length > body_bytes_max) throw tooLarge()
      return length <= SMALL_BYTES_MAX ? readSmall(request) : readLarge(request, length)
    },
  }
}

/** No query, flag or project is as long; reading such a text keeps everybody else waiting. */
export const JSON_BYTES_MAX = 2 * 1024 * 1024

/** Reads a body as JSON of a shape. Refuses anything else, naming the first field at fault. */
export async function readJson<Schema extends TSchema>(
  bodies: Bodies,
  request: Request,
  shape: Validator<Schema>,
): Promise<Static<Schema>> {
  const bytes = await bodies.read(request)
  resumeWork()
  if (bytes.length > JSON_BYTES_MAX) throw tooLarge()
  const value = parseJson(bytes)
  requireDepth(value)
  return shape.require(value)
}

/** The same reader, for bodies that may be left out: nothing is an object without members. */
export function orNothing(bodies: Bodies): Bodies {
  return {
    async read(request) {
      const bytes = await bodies.read(request)
      return bytes.length === 0 ? new TextEncoder().encode('{}') : bytes
    },
  }
}

/**
 * Waits for what else comes in at this turn of the event loop. Taking in a request and answering it runs more code than
 * the processor's near caches hold: done for one after the other, all of it is fetched again each time. Taking all in
 * first, then answering all, takes half the time.
 */
function turnEnds(): () => Promise<void> {
  let end: Promise<void> | null = null
  return () => {
    end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = null
        resolve()
      })
    })
    return end
  }
}

function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    const cause = error instanceof SyntaxError ? error.message : 'not UTF-8'
    throw new Refusal(
      'parse_error',
      `JSON parse error - ${cause.replace(/^JSON Parse error: /, '')}`,
    )
  }
}

/** Level by level, since a recursive check would be what deep bodies break. */
function requireDepth(value: unknown): void {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth += 1) {
    const lists = level.map(membersOf)
    if (depth > DEPTH_MAX && lists.some((members) => members.length > 0)) {
      throw new Refusal('parse_error', `JSON parse error - nested deeper than ${DEPTH_MAX} levels`)
    }
    level = containersIn(lists)
  }
}

/** Pushed one by one: `flatMap` takes twenty times as long. */
function containersIn(lists: readonly (readonly unknown[])[]): object[] {
  const result: object[] = []
  for (const members of lists) {
    for (const member of members) if (isContainer(member)) result.push(member)
  }
  return result
}

/** Lists as they are: `Object.values` of one of a million items takes seconds. */
function membersOf(container: object): readonly unknown[] {
  return Array.isArray(container) ? container : Object.values(container)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whoever hung up is nobody's fault here, and is told nothing. */
function refuseBroken(error: unknown): never {
  const is_gone = error instanceof DOMException && error.name === 'AbortError'
  throw is_gone ? new Refusal('parse_error', 'The body broke off.') : error
}

const tooLarge = (): Refusal => new Refusal('request_too_large', 'Request too large.')

const tooMuchAtOnce = (): Refusal =>
  new Refusal('storage_unavailable', 'Too much is being received at once. Please try again.')
