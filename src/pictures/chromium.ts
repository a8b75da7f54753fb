/** One run of Chromium: opens a page from files in memory, waits until it is drawn, and returns a PNG. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

/** A file that the page may load. */
export type PageFile = {
  readonly content_type: string
  readonly bytes: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export type Screenshot = {
  /** The path of the page, one of the files. */
  readonly path: string
  readonly width: number
  readonly height_max: number
  /** Pixels of the picture per pixel of the page. */
  readonly scale: number
  /** Returns the file at a path; null is a request that fails. */
  readonly fileAt: (path: string) => PageFile | null
}

/** SWITCHES: turns off the parts of the browser that a picture does not need, the network first. */
const SWITCHES = [
  '--headless=new',
  '--remote-debugging-pipe',
  '--proxy-server=127.0.0.1:1',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--hide-scrollbars',
  '--js-flags=--max-old-space-size=256',
  '--mute-audio',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
  '--password-store=basic',
  '--renderer-process-limit=1',
] as const

/** An address that is nowhere: every request of the page is answered over the pipe. */
const ORIGIN = 'http://picture.invalid'

/** Longer messages end the run; the longest is the picture as base64. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** A page that is lower than the window is as high as the window. */
const VIEW_HEIGHT = 200

/** The frames without a change of the document or its fonts after which a page counts as drawn. */
const QUIET_FRAMES = 12

/** The skeletons of charts whose script comes after the heading. */
const LOADING = '#app main [role="status"][aria-label^="Loading"]'

/** Evaluated in the page by the debugger, which the content policy does not bind. */
const UNTIL_DRAWN = `document.fonts.ready.then(() => new Promise((resolve) => {
  let quiet = 0
  const all = { subtree: true, childList: true, attributes: true, characterData: true }
  new MutationObserver(() => { quiet = 0 }).observe(document, all)
  const onFrame = () => {
    const is_begun = document.querySelector('#app main h1') !== null
    quiet = is_begun && document.querySelector('${LOADING}') === null ? quiet + 1 : 0
    if (quiet < ${QUIET_FRAMES}) requestAnimationFrame(onFrame)
    else resolve(true)
  }
  requestAnimationFrame(onFrame)
}))`

/** Draws one page. Rejects when the browser cannot, or after `timeout_ms`; it is gone by then in any case. */
export async function takeScreenshot(
  program: string,
  wanted: Screenshot,
  timeout_ms: number,
): Promise<Uint8Array> {
  const profile = mkdtempSync(join(tmpdir(), 'tidemark-picture-'))
  const child = startBrowser(program, profile)
  const timer = setTimeout(() => kill(child), timeout_ms)
  try {
    return await drawPage(openConnection(child), wanted)
  } finally {
    clearTimeout(timer)
    kill(child)
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

function startBrowser(program: string, profile: string): ChildProcess {
  // Chromium refuses to run as root with its own sandbox.
  const as_root = process.getuid?.() === 0 ? ['--no-sandbox', '--no-zygote'] : []
  return spawn(program, [...SWITCHES, ...as_root, `--user-data-dir=${profile}`, 'about:blank'], {
    // A process group of its own, which is killed as a whole.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    cwd: profile,
    env: { HOME: profile, TMPDIR: profile, PATH: process.env['PATH'] ?? '' },
  })
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended already.
  }
}

type Parameters = Readonly<Record<string, unknown>>

/** The members of a message from the browser that are read here. */
type BrowserMessage = {
  readonly id?: number
  readonly method?: string
  readonly params?: Parameters
  readonly result?: Parameters
  readonly error?: { readonly message: string }
}

type Connection = {
  /** Sends a command; resolves with its result. */
  readonly send: (method: string, params?: Parameters, session_id?: string) => Promise<Parameters>
  /** Calls a function with the parameters of each event of a name. */
  readonly on: (method: string, listener: (params: Parameters) => void) => void
}

type PendingCommand = {
  readonly resolve: (result: Parameters) => void
  readonly reject: (error: Error) => void
}

/** The DevTools protocol over pipes: JSON texts that end with a zero byte. */
function openConnection(child: ChildProcess): Connection {
  const [, , , commands, answers] = child.stdio as readonly unknown[] as readonly [
    null,
    null,
    null,
    // Null for a program that does not start.
    Writable | null,
    Readable | null,
  ]
  const waiting = new Map<number, PendingCommand>()
  const listeners = new Map<string, (params: Parameters) => void>()
  let ended: Error | null = null
  let last_id = 0
  const end = (reason: string): void => {
    ended ??= new Error(reason)
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  }
  child.on('error', (error) => end(`the browser does not start: ${error.message}`))
  child.on('exit', (code, signal) => end(`the browser has ended (${signal ?? code})`))
  commands?.on('error', (error) => end(error.message))
  answers?.on('error', (error) => end(error.message))
  answers?.on('close', () => end('the browser has closed its pipe'))
  readMessages(answers, (message) => {
    const { id, method, params = {}, result = {}, error } = message
    if (id === undefined) {
      listeners.get(method ?? '')?.(params)
      return
    }
    const one = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) one?.resolve(result)
    else one?.reject(new Error(error.message))
  })
  return {
    on: (method, listener) => listeners.set(method, listener),
    send(method, params = {}, session_id) {
      const { promise, resolve, reject } = Promise.withResolvers<Parameters>()
      if (ended !== null) return Promise.reject(ended)
      last_id += 1
      waiting.set(last_id, { resolve, reject })
      const session = session_id === undefined ? {} : { sessionId: session_id }
      commands?.write(`${JSON.stringify({ id: last_id, method, params, ...session })}\0`)
      return promise
    },
  }
}

function readMessages(stream: Readable | null, onMessage: (message: BrowserMessage) => void): void {
  let parts: Buffer[] = []
  let byte_count = 0
  stream?.on('data', (chunk: Buffer) => {
    let start = 0
    for (let at = chunk.indexOf(0); at !== -1; at = chunk.indexOf(0, start)) {
      parts.push(chunk.subarray(start, at))
      const message: BrowserMessage = JSON.parse(Buffer.concat(parts).toString())
      parts = []
      byte_count = 0
      start = at + 1
      onMessage(message)
    }
    const rest = chunk.subarray(start)
    parts.push(rest)
    byte_count += rest.length
    if (byte_count > MESSAGE_BYTES_MAX) stream.destroy(new Error('the picture is too large'))
  })
}

async function drawPage(connection: Connection, wanted: Screenshot): Promise<Uint8Array> {
  const { path, width, height_max, scale } = wanted
  const target = await connection.send('Target.createTarget', { url: 'about:blank' })
  const attached = await connection.send('Target.attachToTarget', {
    targetId: target['targetId'],
    flatten: true,
  })
  const session_id = String(attached['sessionId'])
  const send = (method: string, params: Parameters = {}) =>
    connection.send(method, params, session_id)

  const loaded = Promise.withResolvers<void>()
  // It may fail before it is awaited: an unhandled failure would end the server. The wait below fails then too.
  loaded.promise.catch(() => undefined)
  connection.on('Page.loadEventFired', () => loaded.resolve())
  connection.on('Fetch.requestPaused', (params) => {
    // A command to a browser that has just ended fails; the run fails with it.
    answerRequest(send, params, wanted).catch(loaded.reject)
  })
  await send('Page.enable')
  await send('Fetch.enable', { patterns: [{ urlPattern: '*' }] })
  const features = [
    { name: 'prefers-color-scheme', value: 'light' },
    { name: 'prefers-reduced-motion', value: 'reduce' },
  ]
  await send('Emulation.setEmulatedMedia', { features })
  const view = { width, height: VIEW_HEIGHT, deviceScaleFactor: scale, mobile: false }
  await send('Emulation.setDeviceMetricsOverride', view)
  const opened = await send('Page.navigate', { url: `${ORIGIN}${path}` })
  if (typeof opened['errorText'] === 'string') throw new Error(opened['errorText'])
  await loaded.promise
  await send('Runtime.evaluate', { expression: UNTIL_DRAWN, awaitPromise: true })

  const { cssContentSize } = (await send('Page.getLayoutMetrics')) as {
    readonly cssContentSize: { readonly height: number }
  }
  const height = Math.min(height_max, Math.ceil(cssContentSize.height))
  const clip = { x: 0, y: 0, width, height, scale: 1 }
  const picture = await send('Page.captureScreenshot', {
    format: 'png',
    captureBeyondViewport: true,
    clip,
  })
  return Buffer.from(String(picture['data']), 'base64')
}

type PausedRequest = { readonly url: string; readonly method: string }

/** Answers a request of the page from memory; others fail. */
async function answerRequest(
  send: (method: string, params: Parameters) => Promise<unknown>,
  params: Parameters,
  { fileAt }: Screenshot,
): Promise<void> {
  const { requestId } = params
  const { url, method } = params['request'] as PausedRequest
  const address = URL.parse(url)
  const is_ours = address?.origin === ORIGIN && method === 'GET'
  const file = is_ours ? fileAt(address.pathname) : null
  if (file === null) {
    await send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
    return
  }
  const headers = { 'Content-Type': file.content_type, ...file.headers }
  await send('Fetch.fulfillRequest', {
    requestId,
    responseCode: 200,
    responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
    body: Buffer.from(file.bytes).toString('base64'),
  })
}
