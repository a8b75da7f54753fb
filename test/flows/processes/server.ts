/** The real server as a process of its own, for tests that send over the wire, kill it and start it again. */
import { existsSync, readFileSync } from 'node:fs'
import { ownCommand } from '../../../src/storage/process/spawn-self.ts'

export const API_TOKEN = 'phc_flow'
export const PERSONAL_API_KEY = 'phx_flow_key_for_tests_only'

/** Also on a machine that has much else to do. */
const START_TIMEOUT_MS = 150_000

export type StartOptions = {
  readonly data_dir: string
  readonly api_token?: string
  /** What to run; the source by default, or the compiled executable. */
  readonly command?: readonly string[]
  readonly cwd?: string
  /** A port of the test's choice, for a server that comes back under its address. */
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
}

export type Server = {
  readonly url: string
  readonly pid: number
  /** Resolves when it has ended, however that was. */
  readonly exited: Promise<number>
  /** Ends as an operator would: SIGTERM. Answers the exit code. */
  stop(): Promise<number>
  /** Ends as a power-hungry kernel would: SIGKILL, which cannot be handled. */
  kill(): Promise<void>
}

/** The system takes ports from 32768 on (49152 on macOS) for outgoing connections and for port 0. */
const FIRST_PORT = 12_000
const LAST_PORT = 32_000
const PORT_TRIES = 1000

/**
 * Finds a free port that stays this process's own until it ends, also while the server behind it is
 * stopped: the system never gives it to a connection, and no other test process chooses it.
 */
export function freePort(): number {
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (listensNowhere(port) && reservePort(port)) return port
  }
  throw new Error('no port is free')
}

function listensNowhere(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
    return true
  } catch {
    return false
  }
}

/** Claims the port among test processes by an abstract socket, which ends with its process. Linux only. */
function reservePort(port: number): boolean {
  if (process.platform !== 'linux') return true
  try {
    Bun.listen({ unix: `\0tidemark-test-port-${port}`, socket: { data() {} } }).unref()
    return true
  } catch {
    return false
  }
}

/** Starts `tidemark serve` on a free port with known keys and waits until it is ready. */
export async function startServer(options: StartOptions): Promise<Server> {
  const port = options.port ?? freePort()
  const url = `http://127.0.0.1:${port}`
  const child = Bun.spawn(
    [...(options.command ?? ownCommand([])), 'serve', '--data-dir', options.data_dir],
    {
      cwd: options.cwd ?? process.cwd(),
      env: {
        ...(options.command === undefined ? process.env : {}),
        TIDEMARK_PORT: String(port),
        TIDEMARK_HOST: '127.0.0.1',
        TIDEMARK_LOG_LEVEL: 'warn',
        TIDEMARK_BOOTSTRAP_API_TOKEN: options.api_token ?? API_TOKEN,
        TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: PERSONAL_API_KEY,
        ...options.env,
      },
      stdout: 'ignore',
      stderr: Bun.file(`${options.data_dir}.log`),
    },
  )
  const since = Date.now()
  for (;;) {
    if (child.exitCode !== null || Date.now() - since > START_TIMEOUT_MS) {
      child.kill('SIGKILL')
      throw new Error(`the server did not start: ${serverLog(options.data_dir)}`)
    }
    const answer = await fetch(`${url}/_readiness`).catch(() => null)
    if (answer?.ok) break
    // Asked ever more rarely: each attempt takes processor time from the start on a busy machine.
    await Bun.sleep(Math.max(20, (Date.now() - since) / 8))
  }
  return {
    url,
    pid: child.pid,
    exited: child.exited,
    async stop() {
      child.kill('SIGTERM')
      return child.exited
    },
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** What the servers on this data folder wrote to their error output. */
export function serverLog(data_dir: string): string {
  return existsSync(`${data_dir}.log`) ? readFileSync(`${data_dir}.log`, 'utf8') : ''
}

/** Asks one HogQL query and answers the whole response body. Throws when the answer is not 200. */
export async function askHogQL(
  url: string,
  query: string,
): Promise<{ results: readonly (readonly unknown[])[]; columns: readonly string[] }> {
  const answer = await fetch(`${url}/api/environments/1/query/`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${PERSONAL_API_KEY}`,
    },
    body: JSON.stringify({ query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }),
  })
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`)
  const body: { results: unknown[][]; columns: string[] } = JSON.parse(await answer.text())
  return body
}
