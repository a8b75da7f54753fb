/**
 * One ClickHouse server or several shards, as processes for tests: started, killed, started again. A test that ends leaves
 * its servers to the next one of its process, which finds them empty: a start takes 0.5 s of processor time.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../flows/processes/server.ts'
import { removeAtEnd } from '../remove-at-end.ts'
import { DATABASE, PASSWORD, writeConfiguration } from './configuration.ts'

const START_MS = 60_000
const POLL_MS = 50
/** A server that aborts writes its stack first. */
const ABORT_MS = 20_000

/** Which user asks, on which server (0 is the first), with which settings or parameters in the URL. */
export type Asking = {
  readonly user?: 'queries' | 'writer'
  readonly shard?: number
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * Servers with the database `tidemark` and the users of configuration.ts. Each knows all of them as the cluster
 * `tidemark`. `await using` gives them back.
 */
export class ClickHouseCluster implements AsyncDisposable {
  readonly shards: readonly ClickHouseServer[]
  readonly #servers: StartedServers

  constructor(servers: StartedServers, shard_count: number) {
    this.#servers = servers
    this.shards = servers.servers.slice(0, shard_count)
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
  run(sql: string, { user = 'writer', shard = 0, settings = {} }: Asking = {}): Promise<string> {
    return this.server(shard).run(sql, { database: DATABASE, user, ...settings })
  }

  /**
   * After a shard could not be reached: waits until a server has aborted and starts it again; false when none does. A server
   * of clickhouse-local, unlike a real one, aborts when a connection is reset while it reads from it, and the server that
   * asks resets some of its connections to shards on which a query failed.
   */
  async startAborted(): Promise<boolean> {
    for (const end = Date.now() + ABORT_MS; Date.now() < end; await Bun.sleep(POLL_MS)) {
      const ended = await Promise.all(this.shards.map((server) => server.startAgain()))
      if (ended.includes('SIGABRT')) return true
    }
    return false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await giveBack(this.#servers)
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

  /** Runs one statement with settings or parameters in the URL. Throws what the server says when it refuses. */
  async run(sql: string, settings: Readonly<Record<string, string>>): Promise<string> {
    const query = new URLSearchParams({ password: PASSWORD, ...settings })
    const response = await fetch(`${this.url}/?${query.toString()}`, { method: 'POST', body: sql })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }

  /** Makes the server as one that has just been started for the first time. */
  async empty(): Promise<void> {
    if (this.#process === null) await this.start()
    else await this.startAgain()
    const settings = { user: 'writer', database: 'default' }
    await this.run(`DROP DATABASE ${DATABASE}`, settings)
    await this.run(`CREATE DATABASE ${DATABASE} ENGINE = Atomic`, settings)
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
    // It ends with this process, which does not wait for it.
    this.#process.unref()
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
    this.#process?.ref()
    this.#process?.kill('SIGKILL')
    await this.#process?.exited
    this.#process = null
  }
}

type StartedServers = { readonly servers: readonly ClickHouseServer[]; readonly folder: string }

/** The servers that the last test has given back. */
let idle: StartedServers | null = null

/** Gives a cluster of one or more shards, empty. */
export async function startCluster(shard_count = 1): Promise<ClickHouseCluster> {
  const found = idle
  idle = null
  if (found === null) return new ClickHouseCluster(await startServers(shard_count), shard_count)
  if (found.servers.length < shard_count) {
    await stop(found)
    return startCluster(shard_count)
  }
  try {
    await Promise.all(found.servers.map((server) => server.empty()))
  } catch (error) {
    await stop(found)
    throw error
  }
  return new ClickHouseCluster(found, shard_count)
}

/** A test may hold several at a time: one is enough for the next. */
async function giveBack(servers: StartedServers): Promise<void> {
  if (idle !== null) await stop(servers)
  else idle = servers
}

async function stop({ servers, folder }: StartedServers): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()))
  rmSync(folder, { recursive: true, force: true })
}

async function startServers(shard_count: number): Promise<StartedServers> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-clickhouse-'))
  const ports = Array.from({ length: shard_count }, () => ({ http: freePort(), tcp: freePort() }))
  const config = writeConfiguration(
    folder,
    ports.map(({ tcp }) => tcp),
  )
  const servers = ports.map(
    (of, index) =>
      new ClickHouseServer(
        { config, data: join(folder, `shard-${index}`), log: join(folder, `shard-${index}.log`) },
        of,
      ),
  )
  removeAtEnd(folder)
  const started = { servers, folder }
  try {
    await Promise.all(servers.map((server) => server.start()))
  } catch (error) {
    await stop(started)
    throw error
  }
  return started
}
