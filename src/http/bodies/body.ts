/** Reads request bodies: never more than the limit, JSON as well-formed UTF-8 or forms, checked against a schema. */
import type { Static, TSchema } from 'elysia'
import { Refusal } from '../../errors.ts'
import { senderNetwork } from '../../networks.ts'
import { FairBudget } from '../../threads/fair-budget.ts'
import { resumeWork } from '../../threads/this-thread.ts'
import { clientIpFinder } from '../callers/client-ip.ts'
import type { ClientSocket } from '../endpoint.ts'
import { type FormField, isFormType, readForm } from './form.ts'
import type { Validator } from './shape.ts'
import { readFields, replaceTexts } from './text-values.ts'

/** Limits of received bodies, in bytes. */
type BodyLimits = {
  /** The largest body. */
  readonly body_bytes_max: number
  /** The sum of all large bodies that are being received at one moment; each client's address has a share of it. */
  readonly receiving_bytes_max: number
  /** As `clientIpFinder` takes them. */
  readonly trusted_proxies?: readonly string[]
}

/** Reads bodies for one server and charges them to one shared limit. */
export type Bodies = {
  /**
   * Reads a body as bytes. Refuses a body above the limit before it has arrived, also when its length is not
   * announced, and a large one while too many others are being received. Small bodies that arrive in one turn
   * of the event loop are returned together. `bytes_max` is the limit of a route that takes less than others.
   */
  readonly read: ReadBytes
  /** Reads alike, and returns each body at once: another thread begins with it while this one receives the next. */
  readonly readForThread: ReadBytes
  /** Waits for the end of this turn of the event loop, as `read` does; `readForThread` and then this make a promise less. */
  readonly turnEnd: () => Promise<void>
}

type ReadBytes = (
  request: Request,
  bytes_max?: number,
  socket?: ClientSocket,
) => Promise<Uint8Array<ArrayBuffer>>

/**
 * Deepest nesting of a management body. Checks and the rooms behind recurse over it; real bodies are far
 * flatter.
 */
const DEPTH_MAX = 128
/**
 * Smaller bodies are not charged: charging costs every request, and a thousand connections hold 64 MiB of them.
 */
const SMALL_BYTES_MAX = 64 * 1024
const EMPTY = new Uint8Array(0)

/** The bytes of one body that are charged to its sender while it is being received. */
type Charge = {
  /** Refuses when too much is being received, by all or by this sender. */
  readonly take: (bytes: number) => void
  readonly release: () => void
}

/** Creates the reader for one server. */
export function limitBodies(limits: BodyLimits): Bodies {
  const { body_bytes_max, receiving_bytes_max, trusted_proxies = [] } = limits
  const budget = new FairBudget(receiving_bytes_max)
  const findClientIp = clientIpFinder(trusted_proxies)
  const chargeOf = (request: Request, socket: ClientSocket): Charge => {
    const ip = findClientIp(request, socket)
    const senders = [senderNetwork(ip)]
    let taken = 0
    return {
      take(bytes) {
        if (!budget.hasRoom(bytes) || !budget.isFair(senders, bytes)) throw tooMuchAtOnce()
        budget.take(senders, bytes)
        taken += bytes
      },
      release: () => budget.release(senders, taken),
    }
  }
  const turnEnd = turnEndWaiter()
  // Not asynchronous itself: that is one promise, one generator and their scopes less for every request.
  const readForThread: ReadBytes = (request, limit = body_bytes_max, socket = null) => {
    const bytes_max = Math.min(limit, body_bytes_max)
    const announced = request.headers.get('content-length')
    if (announced === null) {
      // Only here: reading `body` makes a stream, which costs a small request 1 µs.
      const { body } = request
      if (body === null) return Promise.resolve(EMPTY)
      return readStream(body, bytes_max, chargeOf(request, socket))
    }
    const length = Number(announced)
    if (length > bytes_max) return Promise.reject(tooLarge())
    if (length > SMALL_BYTES_MAX) return readLarge(request, length, chargeOf(request, socket))
    return readWhole(request)
  }
  const read: ReadBytes = async (request, limit, socket) => {
    const bytes = await readForThread(request, limit, socket)
    if (bytes.length <= SMALL_BYTES_MAX) await turnEnd()
    return bytes
  }
  return { read, readForThread, turnEnd }
}

/** As bytes: the garbage collector stops this thread for a quarter of a microsecond for each `ArrayBuffer` object. */
function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  return (request.bytes() as Promise<Uint8Array<ArrayBuffer>>).catch(refuseBroken)
}

async function readLarge(
  request: Request,
  length: number,
  charge: Charge,
): Promise<Uint8Array<ArrayBuffer>> {
  charge.take(length)
  try {
    return await readWhole(request)
  } finally {
    charge.release()
  }
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  bytes_max: number,
  charge: Charge,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  let charged = 0
  try {
    for await (const chunk of stream) {
      length += chunk.length
      if (length > bytes_max) throw tooLarge()
      if (length > SMALL_BYTES_MAX) {
        charge.take(length - charged)
        charged = length
      }
      chunks.push(chunk)
    }
  } catch (error) {
    return refuseBroken(error)
  } finally {
    charge.release()
  }
  return joinChunks(chunks, length)
}

/**
 * Largest JSON body. Real queries, flags and projects are far smaller. Parsing, checking and storing happen on the main
 * thread: 2 MiB held it for 120 to 490 ms, this much for at most 50 ms.
 */
export const JSON_BYTES_MAX = 512 * 1024

/**
 * Reads a body as JSON, or as a form if it says so, and validates it. An empty one counts as `{}`: clients send none
 * where they have nothing to say. Refuses anything else, naming the first invalid field.
 */
export async function readBody<Schema extends TSchema>(
  bodies: Bodies,
  request: Request,
  shape: Validator<Schema>,
  socket: ClientSocket = null,
): Promise<Static<Schema>> {
  const bytes = await bodies.read(request, JSON_BYTES_MAX, socket)
  resumeWork()
  const type = request.headers.get('content-type') ?? ''
  if (isFormType(type)) {
    const fields = await readForm(bytes, type)
    resumeWork()
    return shape.require(readFields(shape.schema, fields.filter(isTextField)))
  }
  const text = decodeText(bytes)
  const recent = shape.recent?.get(text)
  if (recent !== undefined) return recent
  const value = text === '' ? {} : parseJson(text)
  requireDepth(value)
  replaceTexts(shape.schema, value)
  const checked = shape.require(value)
  if (shape.recent !== undefined && text.length <= RECENT_LENGTH_MAX) {
    if (shape.recent.size >= RECENT_MAX) shape.recent.clear()
    shape.recent.set(text, freezeDeeply(checked))
  }
  return checked
}

/** Bodies that are kept to be recognized when they are repeated, and the length of each: about 3 MB in all. */
const RECENT_MAX = 200
const RECENT_LENGTH_MAX = 4000

function freezeDeeply<Value>(value: Value): Value {
  if (isContainer(value)) Object.values(Object.freeze(value)).forEach(freezeDeeply)
  return value
}

/** Files are read by the routes that expect them. */
function isTextField(field: FormField): field is readonly [name: string, text: string] {
  return typeof field[1] === 'string'
}

/**
 * Returns a function that waits for the end of this turn of the event loop. Receiving a request and answering
 * it together run more code than the processor's near caches hold; alternating between them evicts that code
 * each time. Receiving all requests of a turn first and then answering all takes half the time.
 */
function turnEndWaiter(): () => Promise<void> {
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

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function decodeText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new Refusal('parse_error', 'JSON parse error - not UTF-8')
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const cause = String(Error.isError(error) ? error.message : error)
    throw new Refusal(
      'parse_error',
      `JSON parse error - ${cause.replace(/^JSON Parse error: /, '')}`,
    )
  }
}

/** Checks the depth level by level: a recursive check would overflow on the very bodies it is to refuse. */
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

/** Pushes one by one: `flatMap` takes twenty times as long. */
function containersIn(lists: readonly (readonly unknown[])[]): object[] {
  const result: object[] = []
  for (const members of lists) {
    for (const member of members) if (isContainer(member)) result.push(member)
  }
  return result
}

/** Returns arrays unchanged: `Object.values` of one with a million items takes seconds. */
function membersOf(container: object): readonly unknown[] {
  return Array.isArray(container) ? container : Object.values(container)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Turns a client's disconnect into a refusal, which is not logged; other errors stay errors. */
function refuseBroken(error: unknown): never {
  const is_gone = error instanceof DOMException && error.name === 'AbortError'
  throw is_gone ? new Refusal('parse_error', 'The body ended early.') : error
}

const tooLarge = (): Refusal => new Refusal('request_too_large', 'Request too large.')

const tooMuchAtOnce = (): Refusal =>
  new Refusal('storage_unavailable', 'Too much is being received at once. Please try again.')
