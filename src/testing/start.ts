/** `tidemark/testing`: starts a real server for a test, with a folder and keys that are its own. Runs under Bun. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** An event as it is stored. */
export type StoredEvent = {
  readonly uuid: string
  readonly event: string
  readonly distinct_id: string
  readonly person_id: string
  /** ISO 8601, UTC. */
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** A running server. `await using` stops it at the end of the block. */
export type TestServer = AsyncDisposable & {
  /** The address for SDKs and the API, without a final slash. */
  readonly url: string
  readonly project_id: number
  /** The key for SDKs, `phc_…`. */
  readonly project_token: string
  /** The key for the API, `phx_…`, with scope "*". */
  readonly personal_api_key: string
  /**
   * Every event that a request was answered 200 for, in the order of their time; at most 10,000. SDKs send in the
   * background: flush them before.
   */
  events(): Promise<readonly StoredEvent[]>
  /** The rows of a HogQL query over everything that was answered before. Throws with the server's words if it is refused. */
  query(hogql: string): Promise<readonly (readonly unknown[])[]>
  /** Sets the server's clock, which runs on from there; null sets it back to the machine's time. */
  setClock(time: Date | string | null): Promise<void>
  /** Stops the server and removes its folder. A second call does nothing. */
  stop(): Promise<void>
}

/** The line that `tidemark serve --ephemeral` prints. */
type EphemeralKeys = Pick<
  TestServer,
  'personal_api_key' | 'project_id' | 'project_token' | 'url'
> & { readonly data_dir: string }

type ServerProcess = Bun.Subprocess<'pipe', 'pipe', 'pipe'>

const EVENTS = `select toString(uuid), event, distinct_id, toString(person_id), toString(toUnixTimestamp64Milli(timestamp)), properties
from events order by timestamp, uuid limit 10000`

type StartOptions = {
  /** Settings as environment variables (`TIDEMARK_…`); those of this process are not passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** The path of a built executable to start in place of this package's program. */
  readonly executable?: string
}

/** Deadlines for a server to listen, and to stop before it is killed. */
const START_TIME_MS = 30_000
const STOP_TIME_MS = 5000

/**
 * Starts a server on a free port of this machine with a new temporary folder; it ends with this process at the latest.
 * Any number can run at once: they share nothing. Throws with the server's words if it does not start.
 */
export async function startTidemark({
  env = {},
  executable,
}: StartOptions = {}): Promise<TestServer> {
  const child = Bun.spawn([...programOf(executable), 'serve', '--ephemeral'], {
    env: { ...environmentOfOthers(), ...env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  child.unref()
  const words = collectText(child.stderr)
  const keys = await readKeys(child)
  if (keys === null) {
    child.kill('SIGKILL')
    throw new Error(`tidemark did not start: ${(await words).trim()}`)
  }
  const { data_dir, ...shown } = keys
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => (stopped ??= stopProcess(child, data_dir))
  const query = (hogql: string) => queryRows(keys, hogql)
  return {
    ...shown,
    query,
    events: async () => (await query(EVENTS)).map(readEvent),
    setClock: async (time) => {
      await call(keys, 'PUT', '/_clock', { now: time instanceof Date ? time.toISOString() : time })
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** The program as it is packed: bundled, which takes half of the processor time to start. */
const BUNDLED_MAIN = join(import.meta.dir, '../../dist/package/main.js')
const SOURCE_MAIN = join(import.meta.dir, '../main.ts')

/** A clone starts its source: a bundle that is there is only about to be packed. */
const IS_BUNDLED = BUNDLED_MAIN.includes('/node_modules/') && existsSync(BUNDLED_MAIN)

function programOf(executable: string | undefined): readonly string[] {
  if (executable !== undefined) return [executable]
  return [process.execPath, IS_BUNDLED ? BUNDLED_MAIN : SOURCE_MAIN]
}

function environmentOfOthers(): Record<string, string | undefined> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_'))
  return Object.fromEntries(entries)
}

/** Null when the process ends, or the time does, before the line is there. */
async function readKeys(child: ServerProcess): Promise<EphemeralKeys | null> {
  const late = setTimeout(() => child.kill('SIGKILL'), START_TIME_MS)
  try {
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of child.stdout) {
      text += decoder.decode(bytes, { stream: true })
      const end = text.indexOf('\n')
      if (end !== -1) return JSON.parse(text.slice(0, end)) as EphemeralKeys
    }
    return null
  } finally {
    clearTimeout(late)
  }
}

async function collectText(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text()
}

/** The server removes its folder when it stops; a killed one cannot. */
async function stopProcess(child: ServerProcess, data_dir: string): Promise<void> {
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIME_MS)
  await child.stdin.end()
  await child.exited
  clearTimeout(late)
  rmSync(data_dir, { recursive: true, force: true })
}

async function queryRows(
  keys: EphemeralKeys,
  hogql: string,
): Promise<readonly (readonly unknown[])[]> {
  const body = { query: { kind: 'HogQLQuery', query: hogql }, refresh: 'force_blocking' }
  const path = `/api/environments/${keys.project_id}/query/`
  const { results } = (await call(keys, 'POST', path, body)) as { results: unknown[][] }
  return results
}

async function call(
  { url, personal_api_key }: EphemeralKeys,
  method: string,
  path: string,
  body: object,
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: {
      Authorization: `Bearer ${personal_api_key}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as { readonly detail?: string }
  if (response.ok) return answer
  throw new Error(`tidemark refused ${method} ${path} (${response.status}): ${answer.detail}`)
}

function readEvent(row: readonly unknown[]): StoredEvent {
  const [uuid, event, distinct_id, person_id, ms, properties] = row.map(String)
  return {
    uuid: uuid ?? '',
    event: event ?? '',
    distinct_id: distinct_id ?? '',
    person_id: person_id ?? '',
    timestamp: new Date(Number(ms)).toISOString(),
    properties: JSON.parse(properties ?? '{}') as Readonly<Record<string, unknown>>,
  }
}
