/** SERVER and BROWSER, which the test files of a process share: to start and warm them up takes 2 s of processor time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { openBrowser } from '../flows/clients/browser.ts'
import { type Server, startServer } from '../flows/processes/server.ts'

export const EMAIL = 'olga@example.com'
export const PASSWORD = 'correct horse battery'

/** Settings that make the first user of a server. */
export const OWNER = {
  TIDEMARK_BOOTSTRAP_OWNER_EMAIL: EMAIL,
  TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: PASSWORD,
}

/** After this time without a user a thing is closed: an idle server takes a thirtieth of a processor. */
const IDLE_MS = 15_000

type Opened<Thing> = { readonly thing: Thing; close(): Promise<void> }

/** A thing that its first user opens and later ones find open. */
export class Shared<Thing> {
  readonly #open: () => Promise<Opened<Thing>>
  #opened: Promise<Opened<Thing>> | null = null
  #users = 0
  #closing: Timer | null = null

  constructor(open: () => Promise<Opened<Thing>>) {
    this.#open = open
  }

  async take(): Promise<Thing> {
    this.#users += 1
    if (this.#closing !== null) clearTimeout(this.#closing)
    this.#closing = null
    this.#opened ??= this.#open()
    return (await this.#opened).thing
  }

  give(): void {
    this.#users -= 1
    if (this.#users > 0) return
    this.#closing = setTimeout(() => {
      const opened = this.#opened
      this.#opened = null
      void opened?.then((one) => one.close()).catch(console.error)
    }, IDLE_MS)
  }
}

/** A server with an owner, in which each file makes a project of its own. */
export const SERVER = new Shared<Server>(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-web-'))
  const server = await startServer({ data_dir: folder, env: OWNER })
  const keeper = keep(`kill ${server.pid}; while kill -0 ${server.pid}; do sleep 0.1; done`, folder)
  return {
    thing: server,
    close: async () => {
      await server.stop()
      keeper.end()
    },
  }
})

/** Chromium, which ends by itself with the process that has started it. */
export const BROWSER = new Shared<Browser>(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-browser-'))
  const keeper = keep('sleep 1', folder)
  // Its profile and its downloads are there.
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  const browser = await openBrowser()
  if (before === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = before
  return {
    thing: browser,
    close: async () => {
      await browser.close()
      keeper.end()
    },
  }
})

/**
 * Runs commands and removes a folder once this process has ended, however: a process of `bun test` runs nothing of its
 * own after its last file. Pipes close with their process.
 */
function keep(commands: string, folder: string): { end(): void } {
  const script = `cat > /dev/null; ${commands}; rm -rf "$1" "$1.log"`
  const child = Bun.spawn(['sh', '-c', script, 'keeper', folder], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  child.unref()
  return {
    end() {
      child.kill()
      rmSync(folder, { recursive: true, force: true })
      rmSync(`${folder}.log`, { force: true })
    },
  }
}
