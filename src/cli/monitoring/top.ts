/** `top`: shows the current activity of the server on a data folder, redrawn every second; a running query can be cancelled. */
import type { Command } from 'commander'
import { readDataDir } from '../../config.ts'
import { findRunning } from '../../storage/process/lock.ts'
import { addStoreOptions, type DataFolderOptions } from '../options.ts'
import { parseMetrics } from './metric-samples.ts'
import { drawScreen, type ListedQuery, type ServerReading } from './top-screen.ts'

type TopOptions = DataFolderOptions & { readonly once?: true; readonly cancel?: string }

type ServerAccess = { readonly url: string; readonly operator_key: string }

const EVERY_MS = 2000
const ANSWER_TIMEOUT_MS = 5000
const WIDTH = 80
const HEIGHT = 24

/** The terminal's other screen, on which nothing stays when the program ends; the cursor. */
const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

const TOP_HELP = `
Keys: up and down choose a query, c cancels it, q ends. It is let in by a key that the server writes into its data
folder, so it runs as a user who may read that.

Examples:
  $ tidemark top
  $ tidemark top --once                 print it once, for a script
  $ tidemark top --once --json          with the ids of the queries
  $ tidemark top --cancel ID`

/** Adds the command. */
export function addTopCommand(program: Command): void {
  addStoreOptions(program.command('top'))
    .option('--once', 'print once and exit')
    .option('--cancel <id>', 'cancel a query and exit')
    .description('Show the rates, delays and queries of the running server; cancel a query.')
    .addHelpText('after', TOP_HELP)
    .action(async (options: TopOptions) => {
      const access = findAccess(readDataDir(options.dataDir))
      if (options.cancel !== undefined) return cancelQuery(access, options.cancel)
      if (options.once === true || !process.stdout.isTTY) return printOnce(access, options)
      await watch(access)
    })
}

function findAccess(data_dir: string): ServerAccess {
  const holder = findRunning(data_dir)
  if (holder === null) throw new Error(`No server runs on ${data_dir}.`)
  const { local_url: url, operator_key } = holder
  if (url === null) {
    throw new Error(`The server on ${data_dir} (process ${holder.pid}) is not listening yet.`)
  }
  if (operator_key === null) {
    throw new Error(`The server on ${data_dir} computes no queries, or is of an earlier version.`)
  }
  return { url, operator_key }
}

async function printOnce(access: ServerAccess, { json }: TopOptions): Promise<void> {
  const before = await readServer(access)
  if (json === true) {
    console.log(
      JSON.stringify({ url: access.url, reasons: before.reasons, questions: before.queries }),
    )
    return
  }
  await Bun.sleep(1000)
  const after = await readServer(access)
  const options = { url: access.url, width: Number.POSITIVE_INFINITY, selected: -1 }
  console.log(drawScreen(before, after, options).join('\n'))
}

/** Draws until q or Ctrl-C. */
async function watch(access: ServerAccess): Promise<void> {
  const { stdin, stdout } = process
  let before = await readServer(access)
  let after = before
  let selected = 0
  let message = ''
  let is_over = false
  const draw = (): void => {
    if (is_over) return
    // A terminal of unknown size reports 0.
    const width = stdout.columns || WIDTH
    const lines = [...drawScreen(before, after, { url: access.url, width, selected }), '', message]
    const shown = lines
      .slice(0, (stdout.rows || HEIGHT) - 1)
      .map((line) => `${line}${CLEAR_LINE}\n`)
    stdout.write(`${HOME}${shown.join('')}${CLEAR_BELOW}`)
  }
  const ended = Promise.withResolvers<void>()
  const actions: Readonly<Record<string, () => Promise<void> | void>> = {
    q: ended.resolve,
    '\u0003': ended.resolve,
    '\u001b[A': () => void (selected = Math.max(0, selected - 1)),
    '\u001b[B': () => void (selected = Math.min(after.queries.length - 1, selected + 1)),
    c: async () => {
      const query = after.queries[selected]
      if (query === undefined) return
      message = await cancelQuery(access, query.id).then(
        () => `cancelled ${query.labels.join(' ')} of project ${query.project_id}`,
        (error: unknown) => String(error),
      )
    },
  }
  stdin.setRawMode(true)
  stdout.write(ENTER)
  const press = async (key: Buffer): Promise<void> => {
    await actions[key.toString()]?.()
    draw()
  }
  stdin.on('data', (key: Buffer) => void press(key))
  const look = async (): Promise<void> => {
    const reading = await readServer(access).catch((error: unknown) => {
      message = String(error)
      return null
    })
    if (reading !== null) {
      ;[before, after] = [after, reading]
      selected = Math.max(0, Math.min(selected, after.queries.length - 1))
    }
    draw()
  }
  const timer = setInterval(() => void look(), EVERY_MS)
  draw()
  await ended.promise
  is_over = true
  clearInterval(timer)
  stdin.setRawMode(false)
  stdin.pause()
  stdout.write(LEAVE)
}

async function cancelQuery(access: ServerAccess, id: string): Promise<void> {
  const answer = await ask(access, `/_questions/${encodeURIComponent(id)}`, 'DELETE')
  if (answer.status === 404) throw new Error(`No query ${id} runs.`)
}

async function readServer(access: ServerAccess): Promise<ServerReading> {
  const [page, listed, ready] = await Promise.all([
    ask(access, '/_metrics'),
    ask(access, '/_questions'),
    ask(access, '/_readyz'),
  ])
  if (page.status === 404) {
    throw new Error(
      'The server shows its figures to other addresses only: see TIDEMARK_METRICS_NETWORKS.',
    )
  }
  const { results }: { readonly results: readonly ListedQuery[] } = JSON.parse(await listed.text())
  const state: { readonly reasons?: readonly { readonly detail: string }[] } = JSON.parse(
    await ready.text(),
  )
  return {
    at_ms: performance.now(),
    metrics: parseMetrics(await page.text()),
    queries: results,
    reasons: (state.reasons ?? []).map(({ detail }) => detail),
  }
}

async function ask(
  { url, operator_key }: ServerAccess,
  path: string,
  method = 'GET',
): Promise<Response> {
  const answer = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${operator_key}` },
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    // The certificate is for the public name.
    tls: { rejectUnauthorized: false },
  }).catch(() => null)
  if (answer === null) throw new Error(`The server does not answer on ${url}.`)
  return answer
}
