/** `serve` and `up` as processes: first start, later starts, a folder in use, signals. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitTests, longTest } from '../long-tests.ts'
import { commandLine, ENVIRONMENT, run } from './command.ts'

/** These start processes, which a busy machine takes its time for. */
limitTests(60_000)

const START_TIMEOUT_MS = 50_000

let folder = ''
let data_dir = ''
const running: Bun.Subprocess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-serve-'))
  data_dir = join(folder, 'data')
})
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
  rmSync(folder, { recursive: true, force: true })
})

type Served = { readonly url: string; readonly child: Bun.Subprocess; readonly out: () => string }

/** Starts `serve` or `up` on a free port and waits until its folder says where it serves. */
async function start(
  command: 'serve' | 'up',
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const out_path = join(folder, `out-${running.length}`)
  const child = Bun.spawn(commandLine([command, '--data-dir', data_dir, '--port', '0']), {
    env: { ...ENVIRONMENT, ...env },
    stdout: Bun.file(out_path),
    stderr: Bun.file(join(folder, 'err')),
  })
  running.push(child)
  const out = () => readFileSync(out_path, 'utf8')
  const deadline = Date.now() + START_TIMEOUT_MS
  const note = join(data_dir, 'serve.json')
  while (Date.now() < deadline && child.exitCode === null) {
    const { pid, url }: { pid?: number; url?: string | null } = existsSync(note)
      ? JSON.parse(readFileSync(note, 'utf8'))
      : {}
    if (pid === child.pid && url && (command === 'serve' || out() !== ''))
      return { url, child, out }
    await Bun.sleep(20)
  }
  throw new Error(`no server, exit code ${child.exitCode}: ${readLog()}`)
}

async function stop({ child }: Served, signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
  child.kill(signal)
  return child.exited
}

/** Stops a server with a signal that comes twice; its folder then says that nobody serves it. */
async function stopTwice(served: Served, signal: NodeJS.Signals): Promise<void> {
  served.child.kill(signal)
  expect(await stop(served, signal)).toBe(0)
  expect(existsSync(join(data_dir, 'serve.json'))).toBe(false)
}

const readLog = (): string => readFileSync(join(folder, 'err'), 'utf8')

/** The process that the log says is ready. */
function pidOfQueryProcess(): number {
  const lines = readLog().trimEnd().split('\n')
  const ready = lines
    .map((line): { msg?: string; pid?: number } => JSON.parse(line))
    .find(({ msg }) => msg === 'query process ready')
  return Number(ready?.pid)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs one of the command lines that were printed, as a shell would. */
async function paste(text: string, part: string): Promise<string> {
  const line =
    text.split('\n').find((one) => one.includes('curl -X POST') && one.includes(part)) ?? ''
  return runInShell(`${line} --silent`)
}

/** The README's command line for a path, with this server and its keys in place of the example's. */
function readmeLine(path: string, { url, out }: Served): string {
  const keyOf = (kind: 'phc' | 'phx'): string =>
    new RegExp(`${kind}_[0-9A-Za-z]+`).exec(out())?.[0] ?? ''
  return blockOf('sh', path)
    .replaceAll('http://127.0.0.1:8000', url)
    .replaceAll('phc_…', keyOf('phc'))
    .replaceAll('phx_…', keyOf('phx'))
}

/** The README's block in a language that names something. */
function blockOf(language: string, part: string): string {
  const readme = readFileSync(join(import.meta.dir, '../../README.md'), 'utf8')
  const blocks = readme.split(`\`\`\`${language}\n`).slice(1)
  const block = blocks.find((one) => (one.split('```')[0] ?? '').includes(part))
  if (block === undefined) throw new Error(`the README has no ${language} with ${part}`)
  return block.split('```')[0] ?? ''
}

async function runInShell(line: string): Promise<string> {
  const child = Bun.spawn(['sh', '-c', line], { stdout: 'pipe', stderr: 'ignore' })
  return new Response(child.stdout).text()
}

const OWNER = { email: 'owner@example.com', password: 'correct horse battery' } as const
const JSON_OF_PAGE = { 'X-Tidemark': '1', 'Content-Type': 'application/json' } as const

const setupCodeOf = ({ out }: Served): string => /\/setup#([0-9A-Z-]{14})\n/.exec(out())?.[1] ?? ''

const post = ({ url }: Served, path: string, body: object): Promise<Response> =>
  fetch(`${url}${path}`, { method: 'POST', headers: JSON_OF_PAGE, body: JSON.stringify(body) })

const setUp = (served: Served, code: string): Promise<Response> =>
  post(served, '/api/setup/', { code, ...OWNER })

const linkBody = (link: string) => ({ token: link.split('#')[1], password: 'another good one' })

async function countWith(url: string, key: string): Promise<string> {
  const query = { kind: 'HogQLQuery', query: 'SELECT event, count() FROM events GROUP BY event' }
  const answer = await fetch(`${url}/api/projects/@current/query/`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return answer.text()
}

describe('tidemark up', () => {
  test('makes the first things on an empty folder and prints them once; first of all the address that sets the first password', async () => {
    const first = await start('up')
    const old = setupCodeOf(first)
    expect(first.out().split('\n').slice(0, 5)).toEqual([
      `Tidemark serves on ${first.url}`,
      '',
      '  Open this to set your password – it works once, for 24 hours:',
      '',
      `  ${first.url}/setup#${old}`,
    ])
    expect(await paste(first.out(), '/capture/')).toBe('{"status":1}')
    const key = /phx_[0-9A-Za-z]+/.exec(first.out())?.[0] ?? ''
    expect(await countWith(first.url, key)).toContain('"results":[["first event",1]]')
    expect(await stop(first)).toBe(0)

    const second = await start('up')
    expect(second.out()).toContain(`Tidemark serves on ${second.url}\n`)
    expect(second.out()).not.toContain('phx_')
    const code = setupCodeOf(second)
    expect((await setUp(second, old)).status).toBe(404)
    const answer = await setUp(second, code)
    expect(await answer.json()).toMatchObject({ state: 'in', user: { email: OWNER.email } })
    expect(await stop(second)).toBe(0)

    const third = await start('up')
    expect(third.out()).toBe(
      `Tidemark serves on ${third.url}\n\n  Open it and log in. For a forgotten password:  tidemark user link EMAIL\n\n`,
    )
    expect(await stop(third)).toBe(0)
    for (const one of [key, old, code, OWNER.password]) expect(readLog()).not.toContain(one)
  })

  test('prints what to do next with preset keys and a preset owner too, but no preset secret', async () => {
    const key = 'phx_preset_key_for_tests'
    const owner = {
      TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    }
    const served = await start('up', { TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: key, ...owner })
    expect(await paste(served.out(), '/capture/')).toBe('{"status":1}')
    expect(await countWith(served.url, key)).toContain('"results":[["first event",1]]')
    expect(served.out()).toContain('as TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY says')
    expect(served.out()).toContain('Open it and log in')
    expect(served.out()).not.toContain(key)
    expect(await stop(served)).toBe(0)

    const again = await start('up', { TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: key, ...owner })
    expect(again.out()).not.toContain('API key')
    expect(await stop(again)).toBe(0)
  })

  test('makes no key in a start that fails, which would print none', async () => {
    using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const failed = await run(['up', '--data-dir', data_dir, '--port', String(other.port)])
    expect([failed.exit_code, failed.err]).toEqual([1, expect.stringContaining('is in use by')])
    const served = await start('up')
    const key = /phx_[0-9A-Za-z]+/.exec(served.out())?.[0] ?? ''
    expect(await countWith(served.url, key)).toContain('"results":[]')
    expect(await stop(served)).toBe(0)
  })

  test('lets a preset owner in with the first request that it answers', async () => {
    using taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const port = String(taken.port)
    await taken.stop(true)
    const child = Bun.spawn(commandLine(['serve', '--data-dir', data_dir, '--port', port]), {
      env: {
        ...ENVIRONMENT,
        TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_preset_token',
        TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email,
        TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      },
      stdout: 'ignore',
      stderr: Bun.file(join(folder, 'err')),
    })
    running.push(child)
    const logIn = () =>
      fetch(`http://127.0.0.1:${port}/api/login/`, {
        method: 'POST',
        headers: { 'X-Tidemark': '1', 'Content-Type': 'application/json' },
        body: JSON.stringify(OWNER),
      })
        .then(({ status }) => status)
        .catch(() => null)
    let status = await logIn()
    while (status === null && child.exitCode === null) {
      await Bun.sleep(1)
      status = await logIn()
    }
    expect(status).toBe(200)
  })

  test('prints the keys that it makes beside a preset owner', async () => {
    const served = await start('up', {
      TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    })
    const key = /phx_[0-9A-Za-z]+/.exec(served.out())?.[0] ?? ''
    expect(await countWith(served.url, key)).toContain('"results":[]')
    expect(await stop(served)).toBe(0)
  })
})

describe('the README', () => {
  test('sends an event with curl, and its first query is answered as printed', async () => {
    const served = await start('up')
    expect(await runInShell(readmeLine('/capture/', served))).toBe('{"status":1}')
    const answer = await runInShell(readmeLine('/query/', served))
    for (const part of blockOf('json', '"columns"').trim().split('…'))
      expect(answer).toContain(part)
  })
})

describe('tidemark user', () => {
  test('lists and adds people, and makes links that let them in while a server runs', async () => {
    const served = await start('serve')
    const cli = (...args: readonly string[]) => run([...args, '--json', '--data-dir', data_dir])
    const made = JSON.parse((await cli('user', 'link')).out) as { link: string; code: string }
    expect(made.link).toBe(`${served.url}/setup#${made.code}`)
    // The code that the server printed ends with the one made now.
    expect((await setUp(served, setupCodeOf(served))).status).toBe(404)
    expect((await setUp(served, made.code)).status).toBe(200)
    expect((await cli('user', 'link')).err).toContain('as in "tidemark user link ann@example.com"')

    const added = JSON.parse((await cli('user', 'add', 'Ann@Example.com', '--level', 'admin')).out)
    expect(added.link).toStartWith(`${served.url}/reset#`)
    const reset = (link: string) => post(served, '/api/reset/', linkBody(link))
    expect((await reset(added.link)).status).toBe(200)
    expect((await reset(added.link)).status).toBe(404)
    const again = JSON.parse((await cli('user', 'link', 'ann@example.com')).out)
    expect((await reset(again.link)).status).toBe(200)
    expect((await cli('user', 'add', 'ann@example.com')).err).toContain(
      'There is already a member with this email address.',
    )
    expect((await cli('user', 'link', 'nobody@example.com')).err).toContain('There is no user')
    const { results } = JSON.parse((await cli('user', 'list')).out)
    expect(results).toEqual([
      { id: 1, email: OWNER.email, first_name: 'Owner', has_password: true, organizations: 1 },
      { id: 2, email: 'ann@example.com', first_name: 'Ann', has_password: true, organizations: 1 },
    ])
    expect(await stop(served)).toBe(0)
  })
})

describe('tidemark serve', () => {
  longTest(
    'sets the password of the owner from its settings, once, and prints no link',
    async () => {
      const presets = {
        TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email,
        TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      }
      const served = await start('serve', presets)
      expect((await post(served, '/api/login/', OWNER)).status).toBe(200)
      expect(await stop(served)).toBe(0)
      expect(served.out()).toBe('')
      const changed = { ...presets, TIDEMARK_BOOTSTRAP_OWNER_PASSWORD: 'another good one' }
      const again = await start('serve', changed)
      expect((await post(again, '/api/login/', OWNER)).status).toBe(200)
      expect(await stop(again)).toBe(0)
      expect(readLog()).not.toContain(OWNER.password)
      const half = { TIDEMARK_BOOTSTRAP_OWNER_EMAIL: OWNER.email }
      expect(await start('serve', half).catch(String)).toContain('must be set together')
    },
  )

  test('takes preset keys on an empty folder, prints and logs neither, and ends with 0 on SIGTERM, sent twice', async () => {
    const presets = {
      TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_preset_token',
      TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: 'phx_preset_key_for_tests',
      TIDEMARK_LOG_LEVEL: 'trace',
    }
    const served = await start('serve', presets)
    const answer = await fetch(`${served.url}/capture/`, {
      method: 'POST',
      body: '{"api_key":"phc_preset_token","event":"e","distinct_id":"u"}',
    })
    expect(answer.status).toBe(200)
    await stopTwice(served, 'SIGTERM')
    for (const key of Object.values(presets)) expect(served.out()).not.toContain(key)
    expect(readLog()).not.toMatch(/preset_(token|key)/)
  })

  test('refuses a folder and a port that others have, shares its folder with other commands, and ends with 0 on SIGINT, sent twice', async () => {
    const served = await start('serve')
    const same_folder = await run(['serve', '--data-dir', data_dir, '--port', '0'])
    expect(same_folder.exit_code).toBe(1)
    expect(same_folder.err).toMatch(
      new RegExp(
        `^error: .* in use by tidemark process ${served.child.pid}, serving ${served.url}, since`,
      ),
    )
    const other = join(folder, 'other')
    const same_port = await run(['serve', '--data-dir', other, '--port', new URL(served.url).port])
    expect(same_port.exit_code).toBe(1)
    expect(same_port.err).toMatch(/error: 127\.0\.0\.1:\d+ is in use by another program/)
    expect(existsSync(join(other, 'serve.json'))).toBe(false)

    const made = async (...args: readonly string[]): Promise<Record<string, unknown>> =>
      JSON.parse((await run([...args, '--json', '--data-dir', data_dir])).out)
    const organization = await made('organization', 'create', 'Acme')
    const id = String(organization['id'])
    const project = await made('project', 'create', '--organization', id, 'Web')
    const answer = await fetch(`${served.url}/capture/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: project['api_token'], event: 'e', distinct_id: 'u' }),
    })
    expect(answer.status).toBe(200)
    await stopTwice(served, 'SIGINT')
  })

  test('does not start on a damaged database after a kill, however often it is tried', async () => {
    expect(await stop(await start('serve'))).toBe(0)
    const path = join(data_dir, 'events.db')
    const bytes = readFileSync(path)
    bytes.fill(0xff, 12 * 4096, 13 * 4096)
    writeFileSync(path, bytes)
    // As a killed server leaves it.
    writeFileSync(join(data_dir, 'serve.json'), '{}')
    for (let time = 0; time < 2; time += 1) {
      const { exit_code, err } = await run(['serve', '--data-dir', data_dir, '--port', '0'])
      expect([exit_code, err]).toEqual([1, expect.stringContaining('events.db is damaged')])
    }
  })

  test('does not start without the control.db of its events: a new one would refuse their tokens', async () => {
    expect(await stop(await start('serve'))).toBe(0)
    const path = join(data_dir, 'control.db')
    for (const [lose, state] of [
      [() => writeFileSync(path, ''), 'empty'],
      [() => rmSync(path), 'missing'],
    ] as const) {
      lose()
      const { exit_code, err } = await run(['serve', '--data-dir', data_dir, '--port', '0'])
      const why = `control.db is damaged (${state} beside events.db)`
      expect([exit_code, err]).toEqual([1, expect.stringContaining(why)])
    }
  })

  test('answers what it has received before it ends', async () => {
    const served = await start('serve', { TIDEMARK_BOOTSTRAP_API_TOKEN: 'phc_preset_token' })
    const event = '{"api_key":"phc_preset_token","event":"e","distinct_id":"u"}'
    const { hostname, port } = new URL(served.url)
    const head = `POST /capture/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${event.length}\r\n\r\n`
    const socket = connect(Number(port), hostname)
    const answer = Array.fromAsync(socket.setEncoding('utf8'))
    await new Promise((resolve) => socket.write(head + event.slice(0, 20), resolve))
    // Whoever came later has its answer: what came before has been read.
    for (let looks = 0; looks < 2; looks++) await fetch(`${served.url}/_health`)
    // The second half of the body comes after the signal.
    served.child.kill('SIGTERM')
    await Bun.sleep(100)
    socket.write(event.slice(20))
    expect((await answer).join('')).toContain('{"status":1}')
    expect(await served.child.exited).toBe(0)
  })

  test('refuses the queries that run when it is told to stop, and leaves no child behind', async () => {
    const served = await start('serve', {
      TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: 'phx_preset_key_for_tests',
    })
    const path = `${served.url}/api/projects/1/query/`
    const headers = { Authorization: 'Bearer phx_preset_key_for_tests' }
    const ask = (query: string, client_query_id?: string) =>
      fetch(path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ query: { kind: 'HogQLQuery', query }, client_query_id }),
      })
    expect((await ask('SELECT 1')).status).toBe(200)
    const pid = pidOfQueryProcess()
    expect(isAlive(pid)).toBe(true)
    // Far more than a second's work, less than the time it may take.
    const pairs = 'numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b'
    const endless = ask(`SELECT count() FROM ${pairs} WHERE (a.number + b.number) % 7 = 3`, 'it')
    while (!(await fetch(`${path}it/`, { headers })).ok) await Bun.sleep(10)
    expect(await stop(served)).toBe(0)
    const answer = await endless
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'storage_unavailable' })
    expect(isAlive(pid)).toBe(false)
  })

  test('stops also when it is told so while it starts', async () => {
    const child = Bun.spawn(commandLine(['serve', '--data-dir', data_dir, '--port', '0']), {
      env: ENVIRONMENT,
      stdout: 'ignore',
      stderr: 'ignore',
    })
    running.push(child)
    while (child.exitCode === null && !existsSync(join(data_dir, 'lock.db'))) await Bun.sleep(1)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })
})
