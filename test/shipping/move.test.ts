/** A project moves to another server behind a front while it is sent to; the command is killed after each step, the server by SIGKILL. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MOVE_FAULTS } from '../../src/backup/move.ts'
import { PROXIES as CONFIGURATIONS } from '../../src/cli/clickhouse/proxy-configs.ts'
import { checkRouteTable } from '../../src/cli/clickhouse/route-table.ts'
import { commandLine, ENVIRONMENT, run } from '../cli/command.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { PROXIES, startProxy } from '../flows/processes/proxies.ts'
import {
  API_TOKEN,
  freePort,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from '../flows/processes/server.ts'
import { askFresh } from './ask-fresh.ts'

setDefaultTimeout(300_000)

const PROXY = PROXIES.find(({ program }) => program !== null) ?? null
const BATCH_SIZE = 20
const PERSONS = 30

const folder = mkdtempSync(join(tmpdir(), 'tidemark-move-'))
const rome_dir = join(folder, 'rome')
const oslo_dir = join(folder, 'oslo')
const copy = join(folder, 'copy')

describe.skipIf(!hasClickHouse() || PROXY === null)('a project that moves', () => {
  const port = freePort()
  const front = `http://127.0.0.1:${port}`
  const ports = { rome: freePort(), oslo: freePort() }
  let cluster: ClickHouseCluster
  let rome: Server
  let oslo: Server | null = null
  let proxy: { stop(): Promise<void> } | null = null
  let proxies_started = 0
  let other_token = ''

  const settings = () => clickhouseEnvironment(cluster)
  const startRome = () => startServer({ data_dir: rome_dir, port: ports.rome, env: settings() })

  /** The front, with the project at one of the homes. */
  const route = async (home: 'oslo' | 'rome'): Promise<void> => {
    await proxy?.stop()
    if (PROXY === null) throw new Error('skipped without a proxy')
    const table = checkRouteTable(
      {
        homes: { rome: `http://127.0.0.1:${ports.rome}`, oslo: `http://127.0.0.1:${ports.oslo}` },
        projects: [
          { id: 1, token: API_TOKEN, home },
          { id: 2, token: other_token, home: 'rome' },
        ],
      },
      'the table',
    )
    const sites = CONFIGURATIONS[PROXY.name](table, 'front.example.com')
      .replace('\nfront.example.com {', `\nhttp://127.0.0.1:${port} {`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/ +ssl_certificate.*\n/g, '')
    proxies_started += 1
    const place = join(folder, `proxy-${proxies_started}`)
    mkdirSync(place)
    proxy = await startProxy(PROXY, { folder: place, sites, urls: [front] })
  }

  const api = async (path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${front}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${PERSONAL_API_KEY}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
    return answer.json()
  }

  /** One batch until it is answered 200, as SDKs send: again after 5xx and without an answer. */
  const send = async (events: readonly object[], token = API_TOKEN): Promise<void> => {
    const body = JSON.stringify({ api_key: token, batch: events })
    for (;;) {
      const answer = await fetch(`${front}/${token}/batch/`, { method: 'POST', body }).catch(
        () => null,
      )
      if (answer?.status === 200) return
      if (answer !== null && answer.status < 500)
        throw new Error(`${answer.status}: ${await answer.text()}`)
      await Bun.sleep(50)
    }
  }

  const makeBatch = (event: string, number: number): readonly object[] =>
    Array.from({ length: BATCH_SIZE }, (_, index) => ({
      event,
      uuid: Bun.randomUUIDv7(),
      distinct_id: `u${(number * BATCH_SIZE + index) % PERSONS}`,
      properties: { number, $set: { seen: number, plan: index % 2 === 0 ? 'free' : 'paid' } },
    }))

  const evaluate = async (distinct_id: string): Promise<unknown> => {
    const body = JSON.stringify({ api_key: API_TOKEN, distinct_id })
    const answer = await fetch(`${front}/${API_TOKEN}/flags/?v=2`, { method: 'POST', body })
    return ((await answer.json()) as { flags: unknown }).flags
  }

  /** Answers that must be the same at the other home. */
  const answers = async (): Promise<unknown> => ({
    rows: await askFresh(
      front,
      "select distinct_id, count(), max(properties.number), count(distinct person_id) from events where event = 'before' group by distinct_id order by distinct_id",
    ),
    merged: await askFresh(
      front,
      "select count(distinct person_id) from events where distinct_id in ('visitor', 'known')",
    ),
    flags: await api('/api/projects/1/feature_flags/'),
    flag: await evaluate('known'),
    name: ((await api('/api/projects/1/')) as { name: string }).name,
  })

  const killedMove = async (step: string): Promise<void> => {
    const script = join(import.meta.dir, 'move-once.ts')
    const child = Bun.spawn([process.execPath, script, '1', copy, step], {
      env: { ...process.env, ...settings(), TIDEMARK_DATA_DIR: rome_dir },
      stderr: 'pipe',
    })
    const stderr = await child.stderr.text()
    expect([step, await child.exited, child.signalCode, stderr]).toEqual([step, 137, 'SIGKILL', ''])
  }

  beforeAll(async () => {
    cluster = await startCluster()
    rome = await startRome()
    const answer = await fetch(`${rome.url}/api/projects/1/`, {
      headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
    })
    const { organization } = (await answer.json()) as { organization: string }
    const made = await run([
      'project',
      'create',
      'Other',
      '--organization',
      organization,
      '--data-dir',
      rome_dir,
      '--json',
    ])
    other_token = (JSON.parse(made.out) as { api_token: string }).api_token
    await route('rome')
  })
  afterAll(async () => {
    await proxy?.stop()
    await Promise.all([rome?.stop(), oslo?.stop()])
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  test('is served there with every event once, whatever is killed', async () => {
    await send(makeBatch('before', 1))
    await send([
      { event: 'before', uuid: Bun.randomUUIDv7(), distinct_id: 'visitor' },
      {
        event: '$identify',
        uuid: Bun.randomUUIDv7(),
        distinct_id: 'known',
        properties: { $anon_distinct_id: 'visitor', $set: { plan: 'paid' } },
      },
    ])
    await send(makeBatch('of another', 1), other_token)
    const groups = [
      { properties: [{ key: 'plan', value: 'paid', type: 'person', operator: 'exact' }] },
    ]
    await api('/api/projects/1/feature_flags/', { key: 'paid', name: 'paid', filters: { groups } })
    const before = await answers()
    expect(before).toMatchObject({ merged: [[1]], flag: { paid: { enabled: true } } })
    const [[before_count]] = (await askFresh(front, 'select count() from events')) as [[number]]

    const sent: (readonly object[])[] = []
    const sender = new AbortController()
    const sending = (async () => {
      for (let number = 2; !sender.signal.aborted; number += 1) {
        const batch = makeBatch('meanwhile', number)
        await send(batch)
        sent.push(batch)
      }
    })()
    const sentMore = (count: number) => {
      const from = sent.length
      return askUntil(
        () => sent.length - from,
        (more) => more >= count,
      )
    }
    await sentMore(5)

    for (const step of MOVE_FAULTS) {
      await rome.kill()
      await killedMove(step)
      // A move that was cut off before the project left: the server goes on with it.
      rome = await startRome()
      if (step === 'noted' || step === 'copied') await sentMore(3)
    }
    const refused = await fetch(`${rome.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: API_TOKEN, batch: makeBatch('refused', 0) }),
    })
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining('The project has moved to another server. Please try again.'),
    ])

    const env = { ...settings(), TIDEMARK_DATA_DIR: rome_dir }
    const move = ['clickhouse', 'move', '--project', '1', '--to', copy]
    expect((await run(move, env)).err).toContain('is in use by')
    await rome.stop()
    const moved = { exit_code: 0, err: '', out: expect.stringContaining('has moved to') }
    for (let time = 0; time < 2; time += 1) expect(await run(move, env)).toEqual(moved)
    expect((await run([...move.slice(0, -1), `${copy}-2`], env)).err).toContain(copy)
    const take = ['clickhouse', 'take', copy, '--data-dir']
    const taken = { exit_code: 0, err: '', out: expect.stringContaining('has project 1') }
    const cut_off = Bun.spawn(commandLine([...take, oslo_dir]), { env: { ...ENVIRONMENT } })
    await askUntil(
      () => existsSync(oslo_dir),
      (is_there) => is_there,
    )
    cut_off.kill('SIGKILL')
    await cut_off.exited
    for (let time = 0; time < 2; time += 1) expect(await run([...take, oslo_dir])).toEqual(taken)
    expect((await run([...take, `${oslo_dir}-2`])).err).toContain('was taken into')

    rome = await startRome()
    oslo = await startServer({
      data_dir: oslo_dir,
      port: ports.oslo,
      env: { ...settings(), TIDEMARK_PROJECT_ID_MIN: '1000001' },
    })
    await route('oslo')
    await sentMore(5)
    await oslo.kill()
    oslo = await startServer({ data_dir: oslo_dir, port: ports.oslo, env: settings() })
    await sentMore(2)
    sender.abort()
    await sending

    // Sent again, as after an answer that was lost: the other home knows what was stored at the first one.
    for (const batch of [sent[0] ?? [], sent.at(-1) ?? []]) await send(batch)
    const count = before_count + sent.length * BATCH_SIZE
    expect(await askFresh(front, 'select count(), count(distinct uuid) from events')).toEqual([
      [count, count],
    ])
    const stored = `SELECT count(), uniqExact(uuid) FROM events WHERE project_id = 1 FORMAT TSV`
    expect((await cluster.run(stored)).trim()).toBe(`${count}\t${count}`)
    expect(
      await askFresh(
        front,
        "select max(toInt(person.properties.seen)), count(distinct person_id) from events where event = 'meanwhile'",
      ),
    ).toEqual([[sent.length + 1, PERSONS]])
    expect(await answers()).toEqual(before)

    const other = `SELECT count() FROM events WHERE project_id = 2 FORMAT TSV`
    expect((await cluster.run(other)).trim()).toBe(String(BATCH_SIZE))
    const listed = (await (
      await fetch(`${rome.url}/api/projects/`, {
        headers: { Authorization: `Bearer ${PERSONAL_API_KEY}` },
      })
    ).json()) as { results: readonly { id: number }[] }
    expect(listed.results.map(({ id }) => id)).toEqual([2])
  })
})
