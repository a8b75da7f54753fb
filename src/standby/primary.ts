/** Asks a primary for the commits and files that a standby lacks; the wire is in README.md, 1. */
import { KIB, MIB } from '../bytes.ts'
import { Home, readAnswer } from '../edge/home.ts'
import { isObject } from '../json.ts'
import type { FramePosition, ShippedDatabase, ShippedLog } from '../storage/sqlite/log-shipping.ts'
import { LOG_HEADER_BYTES } from '../storage/sqlite/write-ahead-log.ts'
import { SECOND_MS } from '../time.ts'

const TIMEOUT_MS = 20 * SECOND_MS
/** A file that takes longer is asked for again: a snapshot file may have gigabytes. */
const FILE_TIMEOUT_MS = 3600 * SECOND_MS
/** The longest line of JSON before the frames: a list of some 300,000 files. */
const HEAD_BYTES_MAX = 64 * MIB
/** Frames in one answer, and some more. */
const FRAMES_BYTES_MAX = 8 * MIB

type PrimarySettings = { readonly url: string; readonly key: string; readonly id: string }

/** The answer is not of this wire. */
class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
}

export type ReceivedLog = { readonly log: ShippedLog; readonly frames: Buffer<ArrayBuffer> }

export class Primary {
  readonly url: string
  readonly #home: Home
  readonly #id: string
  /** Bytes received since the start. */
  bytes = 0

  constructor({ url, key, id }: PrimarySettings) {
    this.url = url
    this.#home = new Home({ url, key })
    this.#id = id
  }

  /** Asks for the bytes after a position, and for the list of files if it is not of this version. */
  async readLog(
    database: ShippedDatabase,
    position: FramePosition | null,
    version: number,
    signal: AbortSignal,
  ): Promise<ReceivedLog> {
    const query = new URLSearchParams({ version: String(version) })
    if (position !== null) {
      query.set('salts', position.salts)
      query.set('frames', String(position.frames))
    }
    const answer = await this.#get(`log/${database}?${query.toString()}`, signal)
    const bytes = await readAnswer(answer, HEAD_BYTES_MAX + FRAMES_BYTES_MAX)
    this.bytes += bytes.length
    const end = bytes.indexOf(10)
    if (end === -1 || end > HEAD_BYTES_MAX) throw new UnreadableAnswer(UNREADABLE)
    const log: unknown = JSON.parse(bytes.toString('utf8', 0, end))
    if (!isShippedLog(log)) throw new UnreadableAnswer(UNREADABLE)
    return { log, frames: bytes.subarray(end + 1) }
  }

  /** Asks for a part of a database file; null if it is the one with this checksum. */
  async readPages(
    database: ShippedDatabase,
    offset: number,
    { length, sha256 }: { readonly length: number; readonly sha256: string | null },
    signal: AbortSignal,
  ): Promise<Uint8Array | null> {
    const path = `pages/${database}?offset=${offset}&length=${length}`
    const headers = sha256 === null ? {} : { 'If-None-Match': `"${sha256}"` }
    const answer = await this.#get(path, signal, headers)
    if (answer.status === 304) return null
    const pages = await readAnswer(answer, length)
    this.bytes += pages.length
    return pages
  }

  /** Asks for a snapshot file; its body is read by the caller. */
  readFile(project_id: number, id: string, signal: AbortSignal): Promise<Response> {
    return this.#get(`files/${project_id}/${id}`, signal, {}, FILE_TIMEOUT_MS)
  }

  #get(
    path: string,
    signal: AbortSignal,
    headers: Record<string, string> = {},
    timeout_ms = TIMEOUT_MS,
  ): Promise<Response> {
    const init = { headers: { ...headers, 'Tidemark-Standby': this.#id }, signal }
    return this.#home.call(`/_standby/v1/${path}`, init, timeout_ms)
  }
}

const UNREADABLE = 'not an answer of a primary'

/**
 * Whether an answer is of this wire. A primary is another machine: its salts name files of the standby, and its page size
 * says how many frames came.
 */
function isShippedLog(value: unknown): value is ShippedLog {
  if (!isObject(value)) return false
  const { boot, salts, page_bytes, header, from, until, is_end, change, manifest_version, files } =
    value
  const is_run = isHex(salts, SALTS_LENGTH) && isHex(header, header === '' ? 0 : HEADER_LENGTH)
  // A log that has had no frame since its first connection was opened has no page size yet.
  const is_empty = page_bytes === 0 && until === 0
  const has_pages = is_empty || (isCount(page_bytes) && page_bytes >= 512 && page_bytes <= 64 * KIB)
  const has_frames = isCount(from) && isCount(until) && from <= until && isCount(change)
  const has_list = files === null || (Array.isArray(files) && files.every(isShippedFile))
  return (
    typeof boot === 'string' &&
    typeof is_end === 'boolean' &&
    is_run &&
    has_pages &&
    has_frames &&
    has_list &&
    (manifest_version === null || isCount(manifest_version))
  )
}

function isShippedFile(value: unknown): boolean {
  if (!isObject(value)) return false
  const { project_id, id, byte_count, sha256 } = value
  return isCount(project_id) && typeof id === 'string' && isCount(byte_count) && isHex(sha256, 64)
}

const SALTS_LENGTH = 16
const HEADER_LENGTH = 2 * LOG_HEADER_BYTES

const isHex = (value: unknown, length: number): boolean =>
  typeof value === 'string' && value.length === length && /^[0-9a-f]*$/.test(value)

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0
