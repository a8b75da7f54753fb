/** Debian's Firefox, driven by WebDriver BiDi over its own socket: playwright drives only a Firefox that it has patched. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where a browser may be: a machine without one skips what needs it. */
const executablePath = process.env['FIREFOX_PATH'] ?? '/usr/bin/firefox-esr'

export const HAS_FIREFOX = existsSync(executablePath)

if (!HAS_FIREFOX) {
  console.warn(
    `Skipped: no browser at ${executablePath}. Install Debian's package firefox-esr, or name one in FIREFOX_PATH.`,
  )
}

const START_TIMEOUT_MS = 60_000
const WAIT_MS = 30_000
const POLL_MS = 50

/** No calls home, no first-run pages; nothing that moves; a process for all tabs, which takes a tenth of the processor time less. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.aboutwelcome.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.page': 0,
  'browser.tabs.remote.separatePrivilegedContentProcess': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.ipc.processCount': 1,
  'dom.ipc.processPrelaunch.enabled': false,
  'extensions.getAddons.cache.enabled': false,
  'extensions.webextensions.remote': false,
  'fission.autostart': false,
  'media.rdd-process.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.process.enabled': false,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'signon.rememberSignons': false,
  'toolkit.telemetry.reportingpolicy.firstRun': false,
  'ui.prefersReducedMotion': 1,
}

/** What an element is found by: its role and accessible name, or a CSS selector. */
export type FirefoxLocator =
  | { readonly role: string; readonly name: string }
  | { readonly css: string }

export type Firefox = AsyncDisposable & {
  /** Console messages, exceptions and violations of the content policy. */
  readonly complaints: readonly string[]
  goto(url: string): Promise<void>
  /** Evaluates an expression in the page; its value must fit into JSON. */
  evaluate<Value>(expression: string): Promise<Value>
  /** Waits until an expression is true in the page. */
  waitFor(expression: string): Promise<void>
  /** Waits for an element, and presses the mouse's button in its middle. */
  click(locator: FirefoxLocator): Promise<void>
  /** Types into what has the focus; keys without a character are given as WebDriver's code points. */
  type(text: string): Promise<void>
  /** Presses one key while Control is held. */
  pressControl(key: string): Promise<void>
}

/** WebDriver's names of keys without a character. */
export const ENTER = '\uE007'
export const ESCAPE = '\uE00C'
const CONTROL = '\uE009'

type Answer = {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly method?: string
  readonly result?: unknown
  readonly params?: Readonly<Record<string, unknown>>
  readonly error?: string
  readonly message?: string
}

/** Starts the browser with an empty profile, and one tab. */
export async function openFirefox(): Promise<Firefox> {
  const profile = mkdtempSync(join(tmpdir(), 'tidemark-firefox-'))
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  )
  writeFileSync(join(profile, 'user.js'), lines.join('\n'))
  const child = Bun.spawn(
    [
      executablePath,
      '--headless',
      '--no-remote',
      '--remote-debugging-port=0',
      '--profile',
      profile,
    ],
    { stdout: 'ignore', stderr: 'pipe', env: { ...process.env, HOME: profile } },
  )
  const close = async (): Promise<void> => {
    child.kill()
    await child.exited
    rmSync(profile, { recursive: true, force: true })
  }
  try {
    const session = await openSession(`${await readAddress(child.stderr)}/session`)
    return await openTab(session, close)
  } catch (error) {
    await close()
    throw error
  }
}

/** The address of the socket, which the browser tells on its error output. */
async function readAddress(stream: ReadableStream<Uint8Array>): Promise<string> {
  const found = Promise.withResolvers<string>()
  const timer = setTimeout(
    () => found.reject(new Error(`Firefox did not start: ${text}`)),
    START_TIMEOUT_MS,
  )
  let text = ''
  // Read on to the end: a full pipe would stop the browser.
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const part of stream) {
      if (text.length < 10_000) text += decoder.decode(part, { stream: true })
      const [, address] = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(text) ?? []
      if (address !== undefined) found.resolve(address)
    }
    found.reject(new Error(`Firefox ended: ${text}`))
  }
  void read()
  try {
    return await found.promise
  } finally {
    clearTimeout(timer)
  }
}

type Session = {
  readonly send: (method: string, params: object) => Promise<unknown>
  readonly onEvent: (
    listen: (method: string, params: NonNullable<Answer['params']>) => void,
  ) => void
}

async function openSession(address: string): Promise<Session> {
  const socket = new WebSocket(address)
  const opened = Promise.withResolvers<void>()
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let listener: (method: string, params: NonNullable<Answer['params']>) => void = () => undefined
  let last_id = 0
  socket.addEventListener('open', () => opened.resolve())
  socket.addEventListener('close', () => {
    const error = new Error('Firefox closed the connection')
    opened.reject(error)
    for (const { reject } of waiting.values()) reject(error)
  })
  socket.addEventListener('message', ({ data }) => {
    const answer: Answer = JSON.parse(String(data))
    if (answer.type === 'event') return listener(answer.method ?? '', answer.params ?? {})
    const asked = waiting.get(answer.id ?? -1)
    waiting.delete(answer.id ?? -1)
    if (answer.type === 'success') asked?.resolve(answer.result)
    else asked?.reject(new Error(`${answer.error}: ${answer.message}`))
  })
  await opened.promise
  const send = (method: string, params: object): Promise<unknown> => {
    last_id += 1
    const asked = Promise.withResolvers<unknown>()
    waiting.set(last_id, asked)
    socket.send(JSON.stringify({ id: last_id, method, params }))
    return asked.promise
  }
  await send('session.new', { capabilities: {} })
  return { send, onEvent: (listen) => (listener = listen) }
}

type Tree = { readonly contexts: readonly { readonly context: string }[] }
type Evaluated = {
  readonly type: string
  readonly result?: { readonly value?: string }
  readonly exceptionDetails?: { readonly text: string }
}
type Located = { readonly nodes: readonly { readonly sharedId: string }[] }
type LogEntry = { readonly level?: string; readonly text?: string }

async function openTab(session: Session, close: () => Promise<void>): Promise<Firefox> {
  const { send } = session
  const tree = (await send('browsingContext.getTree', {})) as Tree
  const context = tree.contexts[0]?.context ?? ''
  const complaints: string[] = []
  session.onEvent((_, { level, text }: LogEntry) => complaints.push(`${level}: ${text}`))
  await send('session.subscribe', { events: ['log.entryAdded'] })
  await send('browsingContext.setViewport', { context, viewport: { width: 1280, height: 900 } })
  const evaluate = async <Value>(expression: string): Promise<Value> => {
    const evaluated = (await send('script.evaluate', {
      // As JSON, since the protocol wraps every member of an object.
      expression: `JSON.stringify(${expression})`,
      target: { context },
      awaitPromise: true,
    })) as Evaluated
    if (evaluated.type === 'exception') throw new Error(evaluated.exceptionDetails?.text)
    return JSON.parse(evaluated.result?.value ?? 'null')
  }
  const find = async (locator: FirefoxLocator): Promise<string | undefined> => {
    const wanted =
      'css' in locator
        ? { type: 'css', value: locator.css }
        : { type: 'accessibility', value: locator }
    const params = { context, locator: wanted, maxNodeCount: 1 }
    const { nodes } = (await send('browsingContext.locateNodes', params)) as Located
    return nodes[0]?.sharedId
  }
  const act = (source: object): Promise<unknown> =>
    send('input.performActions', { context, actions: [source] })
  const keys = (actions: readonly object[]): Promise<unknown> =>
    act({ type: 'key', id: 'keyboard', actions })
  const press = (value: string): object[] => [
    { type: 'keyDown', value },
    { type: 'keyUp', value },
  ]
  return {
    complaints,
    evaluate,
    async goto(url) {
      await send('browsingContext.navigate', { context, url, wait: 'complete' })
    },
    waitFor: (expression) => poll(expression, () => evaluate<boolean>(`Boolean(${expression})`)),
    async click(locator) {
      let element: string | undefined
      await poll(JSON.stringify(locator), async () => {
        element = await find(locator)
        return element !== undefined
      })
      const origin = { type: 'element', element: { sharedId: element } }
      const actions = [
        { type: 'pointerMove', x: 0, y: 0, origin },
        { type: 'pointerDown', button: 0 },
        { type: 'pointerUp', button: 0 },
      ]
      await act({ type: 'pointer', id: 'mouse', actions })
    },
    async type(text) {
      await keys(Array.from(text, press).flat())
    },
    async pressControl(key) {
      const held = { value: CONTROL }
      await keys([{ type: 'keyDown', ...held }, ...press(key), { type: 'keyUp', ...held }])
    },
    [Symbol.asyncDispose]: close,
  }
}

async function poll(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`not within ${WAIT_MS} ms: ${what}`)
    await Bun.sleep(POLL_MS)
  }
}
