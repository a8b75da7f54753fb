/** The compiled executable, alone: an empty folder, an empty environment, no Bun and no Node in sight. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { startTidemark } from '../../src/testing/start.ts'
import { THOROUGHLY } from '../../src/web-build.ts'
import { unpackWeb } from '../../src/web-pack.ts'
import { limitTests, longTest, longTestIf } from '../long-tests.ts'
import { EVERY_PAGE, fillPages } from '../web/every-page.ts'
import { openWholeInterface, sidewaysScroll } from '../web/interface.ts'
import { HAS_BROWSER } from './clients/browser.ts'
import { makeBatches, sendBatches, tally } from './clients/ledger.ts'
import { askUntil } from './clients/patience.ts'
import { NO_AUTHORITY, newAddress, startAuthority } from './processes/authority.ts'
import { buildExecutable } from './processes/build-executable.ts'
import { openPaths } from './processes/open-paths.ts'
import {
  askHogQL,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from './processes/server.ts'

limitTests(180_000)

const ROOT = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'tidemark-exe-'))
const executable = join(folder, 'bin', 'tidemark')
/** Pages are drawn with `EVERY_CELL=1`: without it those of a server from source are, by the tests of the web interface. */
const ARE_PAGES_DRAWN = HAS_BROWSER && process.env['EVERY_CELL'] === '1'

/** The home of the edge, which has the web interface as well. */
let home: Server

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'))
  copyFileSync(buildExecutable(), executable)
  const cwd = join(folder, 'home')
  mkdirSync(cwd)
  home = await startServer({ data_dir: join(cwd, 'data'), command: [executable], cwd })
}, 180_000)

afterAll(async () => {
  await home?.kill()
  rmSync(folder, { recursive: true, force: true })
})

test('tidemark says what it is made of', () => {
  const ran = Bun.spawnSync([executable, 'licenses'], { cwd: folder, env: {} })
  expect(ran.exitCode).toBe(0)
  const text = ran.stdout.toString()
  expect(text).toContain('posthog-js ')
  expect(text).toContain('GNU LIBRARY GENERAL PUBLIC LICENSE')
  expect(text).toBe(readFileSync(join(ROOT, 'dist', 'LICENSES.txt'), 'utf8'))
})

test('tidemark is an edge of another one', async () => {
  const cwd = join(folder, 'edge')
  mkdirSync(cwd, { recursive: true })
  const edge = await startServer({
    data_dir: join(cwd, 'data'),
    command: [executable],
    cwd,
    env: { TIDEMARK_FORWARD_TO: home.url, TIDEMARK_FORWARD_KEY: PERSONAL_API_KEY },
  })
  const batches = makeBatches(12, 20)
  await sendBatches(edge.url, batches, 4)
  const count = async (): Promise<unknown> => {
    const { results } = await askHogQL(home.url, 'select count(), count(distinct uuid) from events')
    return results[0]
  }
  expect(await askUntil(count, (row) => Bun.deepEquals(row, [2000, 2000]))).toEqual([2000, 2000])
  expect(await edge.stop()).toBe(0)
})

longTestIf(NO_AUTHORITY === null)('tidemark gets a certificate by itself', async () => {
  const cwd = join(folder, 'authority')
  mkdirSync(cwd, { recursive: true })
  const host = newAddress()
  const authority = await startAuthority({ folder: cwd, hosts: { 'exe.test': host } })
  const port = freePort()
  const server = Bun.spawn([executable, 'serve'], {
    cwd,
    env: {
      TIDEMARK_HOST: host,
      TIDEMARK_PORT: String(port),
      TIDEMARK_ACME_DOMAINS: 'exe.test',
      TIDEMARK_ACME_TERMS: 'accepted',
      TIDEMARK_ACME_DIRECTORY: authority.directory,
      TIDEMARK_ACME_CA: authority.ca_path,
    },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const tls = { host, port, ca: readFileSync(authority.ca_path, 'utf8'), servername: 'exe.test' }
  const isTrusted = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(tls, () => resolve(socket.authorized)).once('error', () =>
        resolve(false),
      )
    })
  expect(await askUntil(isTrusted, (is_trusted) => is_trusted)).toBe(true)
  server.kill()
  expect(await server.exited).toBe(0)
  await authority.stop()
})

test('tidemark in an empty folder takes events, answers queries, survives a kill and stops well', async () => {
  const cwd = join(folder, 'empty')
  rmSync(cwd, { recursive: true, force: true })
  mkdirSync(cwd)
  const options = {
    data_dir: join(cwd, 'data'),
    command: [executable],
    cwd,
    env: { TIDEMARK_SNAPSHOT_ROWS: '1000' },
  }
  const batches = makeBatches(11, 50)
  const first = await startServer(options)
  await sendBatches(first.url, batches.slice(0, 30), 4)
  await first.kill()

  const second = await startServer(options)
  await sendBatches(second.url, batches, 4)
  const { results } = await askHogQL(
    second.url,
    'select properties.plan as plan, count() from events group by plan order by plan',
  )
  expect(results).toEqual(tally(batches, (event) => String(event.properties['plan'])))
  const persons = await askHogQL(second.url, 'select count() from persons')
  expect(persons.results).toEqual([
    [new Set(batches.flatMap(({ events }) => events.map((event) => event.distinct_id))).size],
  ])
  expect(openPaths(options.data_dir)).toEqual([])
  expect(await second.stop()).toBe(0)
  expect(openPaths(options.data_dir)).toEqual([])
  expect(readdirSync(cwd).filter((entry) => !entry.startsWith('data'))).toEqual([])
})

test('tidemark serve --ephemeral answers from a folder that goes, and unpacks its library once for all servers', async () => {
  const home_dir = join(folder, 'user')
  mkdirSync(home_dir, { recursive: true })
  const unpacked: (readonly string[])[] = []
  for (const event of ['one', 'two']) {
    const command = [executable, 'serve', '--ephemeral']
    const pipes = { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' } as const
    const child = Bun.spawn(command, { cwd: folder, env: { HOME: home_dir }, ...pipes })
    const { value } = await child.stdout.getReader().read()
    const { url, project_token, personal_api_key, data_dir } = JSON.parse(
      new TextDecoder().decode(value),
    )
    const body = JSON.stringify({ api_key: project_token, event, distinct_id: 'ada' })
    expect((await fetch(`${url}/capture/`, { method: 'POST', body })).status).toBe(200)
    const asked = await fetch(`${url}/api/environments/1/query/`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${personal_api_key}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ query: { kind: 'HogQLQuery', query: 'select event from events' } }),
    })
    expect(await asked.json()).toMatchObject({ results: [[event]] })
    await child.stdin.end()
    expect(await child.exited).toBe(0)
    expect(existsSync(data_dir)).toBe(false)
    unpacked.push(listFiles(join(home_dir, '.cache', 'tidemark', 'native')))
  }
  const [first, second] = unpacked
  expect(first?.join()).toContain('libduckdb.so')
  expect(first?.join()).toMatch(/macros-.*duckdb/)
  expect(second).toEqual(first ?? [])
})

longTest('tidemark can be what startTidemark starts', async () => {
  await using server = await startTidemark({ executable, env: { HOME: folder } })
  const body = JSON.stringify({ api_key: server.project_token, event: 'one', distinct_id: 'ada' })
  expect((await fetch(`${server.url}/capture/`, { method: 'POST', body })).status).toBe(200)
  expect(await server.events()).toMatchObject([{ event: 'one', distinct_id: 'ada' }])
})

/** The files below a folder, with their inodes. */
function listFiles(path: string): readonly string[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return names.map((name) => `${name} ${statSync(join(path, name)).ino}`).toSorted()
}

test('tidemark has the web interface inside, compressed at its best', async () => {
  const get = (path: string) =>
    fetch(`${home.url}${path}`, {
      headers: { 'Accept-Encoding': 'gzip, br' },
      decompress: false,
    })
  const plain = await (await fetch(`${home.url}/p/1/events`)).text()
  const files = [...plain.matchAll(/\/ui\/[\w-]+\.(?:js|css)/g)].map(([path]) => path)
  expect(files.length).toBeGreaterThan(2)
  const built = unpackWeb(new Uint8Array(readFileSync(join(ROOT, 'dist', 'web.pack'))))
  for (const path of files) {
    const answer = await get(path)
    expect([path, answer.status, answer.headers.get('content-encoding')]).toEqual([path, 200, 'br'])
    const bytes = built.files.get(path.slice('/ui/'.length))?.brotli ?? new Uint8Array()
    expect(Buffer.from(await answer.bytes()).equals(bytes)).toBe(true)
    if (!path.endsWith('.css')) continue
    const plain_bytes = brotliDecompressSync(bytes)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: THOROUGHLY.brotli,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain_bytes.length,
    }
    expect(brotliCompressSync(plain_bytes, { params })).toHaveLength(bytes.length)
  }
  expect((await get('/nothing')).headers.get('content-type')).toBe('application/json')
})

test.skipIf(!ARE_PAGES_DRAWN)('tidemark draws every page of its web interface', async () => {
  await using ui = await openWholeInterface({ demo_persons: 20, command: [executable] })
  const ids = await fillPages(ui)
  await using visit = await ui.visit()
  const { page } = visit
  for (const { name, path, drawn } of EVERY_PAGE) {
    await page.goto(path(ids))
    await page.locator(drawn).first().waitFor()
    expect([name, await page.locator('h1').count()]).toEqual([name, 1])
    expect([name, await sidewaysScroll(page)]).toEqual([name, 0])
  }
  expect(visit.complaints).toEqual([])
})
