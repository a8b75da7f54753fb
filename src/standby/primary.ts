/** Asks a primary for the commits and files that a standby lacks; the wire is in README.md, 1. */
import { Home } from '../edge/home.ts'
import type { FramePosition, ShippedDatabase, ShippedLog } from '../storage/sqlite/log-shipping.ts'
import { SECOND_MS } from '../time.ts'

const TIMEOUT_MS = 20 * SECOND_MS
/** A snapshot file may have gigabytes; on a line that gives nothing for so long, it is asked for again. */
const FILE_TIMEOUT_MS = 3600 * SECOND_MS
/** The longest line of JSON before the frames: a list of some 300,000 files. */
const HEAD_BYTES_MAX = 64 * 1024 * 1024

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
    const bytes = Buffer.from(await answer.arrayBuffer())
    this.bytes += bytes.length
    const end = bytes.indexOf(10)
    if (end === -1 || end > HEAD_BYTES_MAX) throw new UnreadableAnswer('not an answer of a primary')
    const log: ShippedLog = JSON.parse(bytes.toString('utf8', 0, end))
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
    const pages = new Uint8Array(await answer.arrayBuffer())
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
