/** One ClickHouse server or several shards, as processes for tests: started, killed, started again. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../flows/processes/server.ts'
import { DATABASE, PASSWORD, writeConfiguration } from './configuration.ts'

const START_MS = 60_000
const POLL_MS = 50

/** Which user asks, on which server (0 is the first), with which settings or parameters in the URL. */
export type Asking = {
  readonly user?: 'questions' | 'writer'
  readonly shard?: number
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * Servers with the database `tidemark` and the users of configuration.ts. Each knows all of them as the cluster
 * `tidemark`. `await using` stops them and removes their files.
 */
export class ClickHouseCluster implements AsyncDisposable {
  readonly shards: readonly ClickHouseServer[]
  readonly #folder: string

  constructor(folder: string, shards: readonly ClickHouseServer[]) {
    this.#folder = folder
    this.shards = shards
  }

  /** The HTTP address of the first server. */
  get url(): string {
    return this.server(0).url
  }

  server(shard: number): ClickHouseServer {
    const found = this.shards[shard]
    if (found === undefined) throw new Error(`no shard ${shard}`)
    return found
  }

  /** Runs one statement and gives the answer's text. Throws what the server says when it refuses. */
  async run(
    sql: string,
    { user = 'writer', shard = 0, settings = {} }: Asking = {},
  ): Promise<string> {
    const query = new URLSearchParams({ database: DATABASE, user, password: PASSWORD, ...settings })
    const response = await fetch(`${this.server(shard).url}/?${query.toString()}`, {
      method: 'POST',
      body: sql,
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.shards.map((server) => server.kill()))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

type ServerPaths = { readonly config: string; readonly data: string; readonly log: string }
type ServerPorts = { readonly http: number; readonly tcp: number }

/** One server: the same ports and files before and after a kill. */
export class ClickHouseServer {
  readonly url: string
  readonly #paths: ServerPaths
  readonly #ports: ServerPorts
  #process: Bun.Subprocess<'pipe'> | null = null

  constructor(paths: ServerPaths, ports: ServerPorts) {
    this.url = `http://127.0.0.1:${ports.http}`
    this.#paths = paths
    this.#ports = ports
  }

  /** The server's process id; throws when it does not run. */
  get pid(): number {
    if (this.#process === null) throw new Error('the server does not run')
    return this.#process.pid
  }

  /** Starts the process and waits until it answers. */
  async start(): Promise<void> {
    const { config, data, log } = this.#paths
    const { http, tcp } = this.#ports
    const start = `CREATE DATABASE IF NOT EXISTS ${DATABASE} ENGINE = Atomic; SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT count() FROM hold`
    const args = [
      `--config-file=${config}`,
      `--path=${data}`,
      '--listen_host=127.0.0.1',
      `--http_port=${http}`,
      `--tcp_port=${tcp}`,
      // The last statement reads standard input, so that the server lives as long as that is open.
      '--structure',
      'x String',
      '--input-format',
      'LineAsString',
      '--table',
      'hold',
      '--query',
      start,
    ]
    // A server would die of SIGPIPE when a shard it reads from does.
    const shell = `trap '' PIPE; exec "$0" "$@" >>'${log}' 2>&1`
    const server = join(import.meta.dir, 'server.ts')
    this.#process = Bun.spawn(['sh', '-c', shell, process.execPath, server, ...args], {
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await this.#waitUntilUp()
  }

  async #waitUntilUp(): Promise<void> {
    const end = Date.now() + START_MS
    while (Date.now() < end) {
      const response = await fetch(`${this.url}/ping`).catch(() => null)
      if (response?.ok) return
      if (this.#process?.exitCode !== null) break
      await Bun.sleep(POLL_MS)
    }
    const log = await Bun.file(this.#paths.log).text()
    throw new Error(`ClickHouse did not start: ${log.slice(-2000)}`)
  }

  /** Starts a process that has ended by itself again. Returns how it ended; null when it still runs. */
  async startAgain(): Promise<string | null> {
    const ended = this.#process?.signalCode ?? this.#process?.exitCode ?? null
    if (ended === null) return null
    await this.start()
    return String(ended)
  }

  /** Ends the process at once, as a power cut would, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#process?.kill('SIGKILL')
    await this.#process?.exited
    this.#process = null
  }
}

/** Starts a cluster of one or more shards. */
export async function startCluster(shard_count = 1): Promise<ClickHouseCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-clickhouse-'))
  const ports = Array.from({ length: shard_count }, () => ({ http: freePort(), tcp: freePort() }))
  const config = writeConfiguration(
    folder,
    ports.map(({ tcp }) => tcp),
  )
  const shards = ports.map(
    (of, index) =>
      new ClickHouseServer(
        { config, data: join(folder, `shard-${index}`), log: join(folder, `shard-${index}.log`) },
        of,
      ),
  )
  const cluster = new ClickHouseCluster(folder, shards)
  try {
    await Promise.all(shards.map((server) => server.start()))
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
  return cluster
}
