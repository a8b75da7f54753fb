/** Servers that share a ClickHouse: one of them has a project, one copy of a folder sends, whoever comes first. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TAKE_FAULTS } from '../../src/backup/take-into.ts'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { getHome } from '../../src/projects/settings/home.ts'
import { createProject, listProjectIds } from '../../src/projects/settings/project.ts'
import { openClaims } from '../../src/serve/home-store.ts'
import { deletePersons } from '../../src/shipping/deletions.ts'
import { type Control, openControl } from '../../src/storage/control/control-db.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { beginLogId } from '../../src/storage/log/shipments.ts'
import { run } from '../cli/command.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { askUntil } from '../flows/clients/patience.ts'
import {
  API_TOKEN,
  PERSONAL_API_KEY,
  type Server,
  serverLog,
  startServer,
} from '../flows/processes/server.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { rejectionOf } from '../rejection.ts'
import { nodesAt } from './shipping-world.ts'

limitTests(300_000)

const NOW = new Date('2026-03-01T00:00:00.000Z')
const OTHER_TOKEN = 'phc_of_other'
const OTHER_KEY = 'phx_key_of_the_other_home_in_tests'
/** No ClickHouse listens there. */
const AWAY = 'http://127.0.0.1:1'
const PRESETS = { api_token: null, personal_api_key: null }

const folder = mkdtempSync(join(tmpdir(), 'tidemark-homes-'))
let folders = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A folder of a server that has not run yet, or a copy of another one as a restore makes it. */
function makeFolder(copied?: string): string {
  folders += 1
  const data_dir = join(folder, `home-${folders}`)
  if (copied !== undefined) cpSync(copied, data_dir, { recursive: true })
  openControl(data_dir).close()
  new EventLog(data_dir).close()
  if (copied !== undefined) beginLogId(data_dir)
  return data_dir
}

describe.skipIf(!hasClickHouse())('homes before two shards', () => {
  let cluster: ClickHouseCluster
  const controls: Control[] = []

  beforeAll(async () => {
    cluster = await startCluster(2)
    await nodes().fit()
  })
  afterAll(async () => {
    for (const control of controls) control.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  /** Each home names the servers in its own order. */
  const nodes = (order = 0) => {
    const urls = cluster.shards.map(({ url }) => url)
    return nodesAt(order % 2 === 0 ? urls : urls.toReversed())
  }
  const openHome = (data_dir: string, order = 0) => {
    const control = openControl(data_dir)
    controls.push(control)
    return { db: control.db, claims: openClaims(data_dir, nodes(order), control.db) }
  }
  const manyHomes = (count: number) =>
    Array.from({ length: count }, (_, index) => openHome(makeFolder(), index))
  const makeFirst = ({ db }: ReturnType<typeof openHome>): number =>
    createFirstThings(db, PRESETS, NOW)?.project_id ?? 0

  test('that claim one project at the same moment: one has it, the others say so', async () => {
    const homes = manyHomes(6)
    expect(homes.map(makeFirst)).toEqual(homes.map(() => 1))
    const ends = await Promise.allSettled(homes.map(({ claims }) => claims.claim()))
    const won = homes.filter((_, index) => ends[index]?.status === 'fulfilled')
    expect(won.length).toBe(1)
    for (const home of homes.filter((one) => !won.includes(one))) {
      expect(await rejectionOf(home.claims.claim())).toMatchObject({
        name: 'ClaimFault',
        message: expect.stringMatching(
          /^project 1 belongs to another server .* TIDEMARK_PROJECT_ID_MIN=1000001, /,
        ),
      })
      expect(await home.claims.owns(1)).toBe(false)
    }
    await won[0]?.claims.claim()
    expect(await won[0]?.claims.owns(1)).toBe(true)
    // Every claim that was kept is the only one of its version.
    expect(
      await cluster.run(
        'SELECT count() - uniqExact(project_id, version) FROM project_homes FORMAT TSV',
      ),
    ).toBe('0\n')
  })

  longTest(
    'without projects get numbers that no other has, and more when they are used up',
    async () => {
      const homes = manyHomes(5)
      await Promise.all(homes.map(({ claims }) => claims.claim()))
      const made: number[] = []
      for (const { db, claims } of homes) {
        made.push(makeFirst({ db, claims }))
        const organization_id = db.all<{ id: string }>('select id from organizations')[0]?.id ?? ''
        const makeMore = () => createProject(db, { organization_id, name: 'More' }, NOW).id
        for (let count = 1; count < 10; count += 1) made.push(makeMore())
        expect(makeMore).toThrow('Numbers of projects are claimed in ClickHouse')
        await claims.claim()
        made.push(makeMore())
      }
      expect(new Set(made).size).toBe(homes.length * 11)
      // Definitions and users of each are numbered in a block of its own.
      const blocks = homes.map(({ db }) => getHome(db).number)
      expect(new Set(blocks).size).toBe(homes.length)
      for (const [index, { db }] of homes.entries()) {
        const [board] = db.all<{ id: number }>('select min(id) as id from dashboards')
        expect(Math.floor((board?.id ?? 0) / 10_000_000)).toBe(blocks[index] ?? -1)
      }
      for (const { db, claims } of homes)
        for (const id of listProjectIds(db)) expect(await claims.owns(id)).toBe(true)
    },
  )

  test('delete the rows of tens of thousands of projects, whose numbers are a long statement', async () => {
    const rows = 'persons (project_id, id, change) SELECT number, generateUUIDv4(), 1'
    for (const shard of [0, 1])
      await cluster.run(`INSERT INTO ${rows} FROM numbers(9000000, 5)`, { shard })
    const removed = Array.from({ length: 45_000 }, (_, index) => 9_000_002 + index)
    await deletePersons(nodes(), removed)
    for (const shard of [0, 1])
      expect(
        await cluster.run('SELECT count() FROM persons WHERE project_id >= 9000000', { shard }),
      ).toBe('2\n')
  })

  test('a restored copy takes over, and its original sends no more', async () => {
    const original_dir = makeFolder()
    const original = openHome(original_dir)
    await original.claims.claim()
    makeFirst(original)
    await original.claims.claim()

    const copy = openHome(makeFolder(original_dir))
    await copy.claims.claim()
    expect(getHome(copy.db).home_id).toBe(getHome(original.db).home_id)
    const [id = 0] = listProjectIds(copy.db)
    expect(await copy.claims.owns(id)).toBe(true)
    const refused = { name: 'ClaimFault', message: expect.stringContaining('another copy of this') }
    expect(await rejectionOf(openHome(original_dir).claims.claim())).toMatchObject(refused)

    // The operator who restored the same backup again wanted it last.
    await openHome(makeFolder(original_dir)).claims.claim()
    expect(await rejectionOf(openHome(original_dir).claims.claim())).toMatchObject(refused)
  })
})

describe.skipIf(!hasClickHouse())('two servers before one ClickHouse', () => {
  let cluster: ClickHouseCluster
  const servers: Server[] = []

  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await cluster?.[Symbol.asyncDispose]()
  })

  const start = async (
    name: string,
    more: { readonly env?: Readonly<Record<string, string>>; readonly api_token?: string } = {},
  ): Promise<Server> => {
    const env = clickhouseEnvironment(cluster)
    const server = await startServer({ data_dir: join(folder, name), env, ...more })
    servers.push(server)
    return server
  }
  const startOther = () =>
    start('other', {
      api_token: OTHER_TOKEN,
      env: { ...clickhouseEnvironment(cluster), TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: OTHER_KEY },
    })
  /** Sends a request of the management API. */
  const request = async ({ url }: Server, path: string, body?: object, key = PERSONAL_API_KEY) => {
    const answer = await fetch(`${url}/api/projects/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
  }
  const ask = async (server: Server, project_id: number, query: string, key?: string) => {
    const asked = { query: { kind: 'HogQLQuery', query } }
    const { json } = await askUntil(
      () => request(server, `${project_id}/query/`, asked, key),
      ({ status }) => status !== 503,
    )
    return json['results'] ?? json
  }
  const capture = async (server: Server, api_key: string, events: readonly object[]) => {
    const body = JSON.stringify({ api_key, batch: events })
    const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body })
    expect(answer.status).toBe(200)
  }

  let beside_token = ''
  /** Makes one more project in the folder of a server; gives its token. */
  const createProjectBeside = async (server: Server, name: string): Promise<string> => {
    const organization = String((await request(server, '1/')).json['organization'])
    const create = ['project', 'create', 'Beside', '--organization', organization]
    const made = await run([...create, '--data-dir', join(folder, name), '--json'])
    return (JSON.parse(made.out) as { api_token: string }).api_token
  }

  const killTake = async (copy: string, data_dir: string, step: string): Promise<void> => {
    const script = join(import.meta.dir, 'take-once.ts')
    const child = Bun.spawn([process.execPath, script, copy, data_dir, step], { stderr: 'pipe' })
    const stderr = await child.stderr.text()
    expect([step, await child.exited, child.signalCode, stderr]).toEqual([step, 137, 'SIGKILL', ''])
  }

  test('give their projects different numbers without a setting, and mix nothing', async () => {
    const [one, other] = [await start('one'), await startOther()]
    const listIds = async (server: Server, key?: string): Promise<unknown> =>
      ((await request(server, '', undefined, key)).json['results'] as { id: number }[]).map(
        ({ id }) => id,
      )
    expect([await listIds(one), await listIds(other, OTHER_KEY)]).toEqual([[1], [11]])
    await capture(one, API_TOKEN, [{ event: 'of one', distinct_id: 'ann' }])
    await capture(other, OTHER_TOKEN, [{ event: 'of other', distinct_id: 'ann' }])
    expect(await ask(one, 1, 'select event from events')).toEqual([['of one']])
    expect(await ask(other, 11, 'select event from events', OTHER_KEY)).toEqual([['of other']])
  })

  test('one whose project has a number of the other does not start, and keeps its events', async () => {
    const alone = await start('alone', { env: {} })
    await alone.stop()
    const refused = await rejectionOf(start('alone'))
    expect(refused).toMatchObject({
      message: expect.stringContaining('project 1 belongs to another server'),
    })
  })

  test('one takes a project of the other beside its own, with every event once', async () => {
    const [one, other] = servers
    if (one === undefined || other === undefined) throw new Error('no servers')
    const seen = { event: 'seen', distinct_id: 'known', uuid: Bun.randomUUIDv7() }
    await capture(one, API_TOKEN, [
      seen,
      { event: 'seen', distinct_id: 'visitor' },
      {
        event: '$identify',
        distinct_id: 'known',
        properties: { $anon_distinct_id: 'visitor', $set: { plan: 'paid' } },
      },
    ])
    const groups = [
      { properties: [{ key: 'plan', value: 'paid', type: 'person', operator: 'exact' }] },
    ]
    await request(one, '1/feature_flags/', { key: 'paid', name: 'paid', filters: { groups } })
    await request(one, '1/insights/', {
      name: 'Saved',
      query: { kind: 'HogQLQuery', query: 'select 1' },
    })
    const LISTS = ['feature_flags', 'insights', 'dashboards', 'activity_log']
    const definitions = async (server: Server) =>
      Promise.all(
        LISTS.map(async (list) => {
          const results = (await request(server, `1/${list}/`)).json['results']
          return (results as { id: unknown; name?: string }[]).map(({ id, name }) =>
            list === 'activity_log' ? null : { id, name },
          )
        }),
      )
    const persons =
      "select count(), count(distinct person_id), max(person.properties.plan) from events where distinct_id in ('known', 'visitor')"
    const before = [await definitions(one), await ask(one, 1, persons)]
    const made = await request(other, '11/dashboards/', { name: 'Own' }, OTHER_KEY)
    beside_token = await createProjectBeside(one, 'one')
    await capture(one, beside_token, [{ event: 'beside', distinct_id: 'ann' }])
    const back_up = ['backup', join(folder, 'backup'), '--data-dir', join(folder, 'one')]
    expect(await run(back_up)).toMatchObject({ exit_code: 0, err: '' })
    // Not in the backup, and not in ClickHouse when the project moves.
    await capture(one, API_TOKEN, [{ event: 'after the backup', distinct_id: 'late' }])
    await Promise.all([one.stop(), other.stop()])

    const env = { ...clickhouseEnvironment(cluster), TIDEMARK_DATA_DIR: join(folder, 'one') }
    const copy = join(folder, 'copy')
    const move = ['clickhouse', 'move', '--project', '1', '--to', copy]
    expect(await run(move, env)).toMatchObject({ exit_code: 0, err: '' })
    const take = ['clickhouse', 'take', copy, '--data-dir', join(folder, 'other')]
    for (const step of TAKE_FAULTS.slice(0, -1)) {
      await killTake(copy, join(folder, 'other'), step)
      // Not there yet: the server may serve its own project, and then has to be stopped again.
      if (step !== 'rows_copied') continue
      const before_it = await startOther()
      expect((await request(before_it, '1/')).status).not.toBe(200)
      expect(await run(take)).toMatchObject({
        exit_code: 1,
        err: expect.stringMatching(
          /is in use by .*: stop it, take the project, and start it again/,
        ),
      })
      await capture(before_it, OTHER_TOKEN, [{ event: 'between', distinct_id: 'ann' }])
      await before_it.stop()
    }
    await killTake(copy, join(folder, 'other'), 'taken')
    // What was done is not done again.
    for (let time = 0; time < 2; time += 1)
      expect(await run(take)).toMatchObject({ exit_code: 0, err: '' })

    const both = await startOther()
    expect([await definitions(both), await ask(both, 1, persons)]).toEqual(before)
    // Sent again, as after an answer that was lost.
    await capture(both, API_TOKEN, [seen, { event: 'later', distinct_id: 'visitor' }])
    await capture(both, OTHER_TOKEN, [{ event: 'later', distinct_id: 'ann' }])
    const events = 'select event, count() from events group by event order by event'
    expect(await ask(both, 1, events)).toEqual([
      ['$identify', 1],
      ['after the backup', 1],
      ['later', 1],
      ['of one', 1],
      ['seen', 2],
    ])
    expect(await ask(both, 11, events, OTHER_KEY)).toEqual([
      ['between', 1],
      ['later', 1],
      ['of other', 1],
    ])
    const flags = await fetch(`${both.url}/flags/?v=2`, {
      method: 'POST',
      body: JSON.stringify({ api_key: API_TOKEN, distinct_id: 'visitor' }),
    })
    expect(await flags.json()).toMatchObject({ flags: { paid: { enabled: true } } })
    // The key that came along is one for the project alone, and members of the other organization see nothing of it.
    expect((await request(both, '11/')).status).not.toBe(200)
    expect((await request(both, '1/', undefined, OTHER_KEY)).status).not.toBe(200)
    // Later definitions are in a block that no home has.
    const next = await request(both, '11/dashboards/', { name: 'Next' }, OTHER_KEY)
    const blocks = [made, next].map(({ json }) => Math.floor(Number(json['id']) / 10_000_000))
    expect(blocks).toEqual([1, 3])

    // The home that gave it away has nothing of it, and starts.
    const left = await start('one')
    expect((await request(left, '1/')).status).not.toBe(200)
  })

  longTest(
    'one that is restored from a backup of before a move serves its other projects, and leaves that one alone',
    async () => {
      const both = servers.at(-2)
      if (both === undefined) throw new Error('no server')
      await servers.at(-1)?.stop()
      const restored_dir = join(folder, 'restored')
      const restore = ['restore', join(folder, 'backup'), '--data-dir', restored_dir]
      expect(await run(restore)).toMatchObject({ exit_code: 0, err: '' })
      // Its projects may be others’ by now: it must be able to ask.
      const away = { env: { ...clickhouseEnvironment(cluster), TIDEMARK_CLICKHOUSE_URL: AWAY } }
      expect(await rejectionOf(start('restored', away))).toMatchObject({
        message: expect.stringContaining('ClickHouse cannot be reached'),
      })
      const rows = async (): Promise<unknown> => [
        await cluster.run(
          'SELECT log_id, event, uuid FROM events WHERE project_id = 1 ORDER BY uuid FORMAT TSV',
        ),
        await cluster.run(
          'SELECT * FROM persons FINAL WHERE project_id = 1 ORDER BY id FORMAT TSV',
        ),
      ]
      const before = await rows()
      const restored = await start('restored')
      expect(serverLog(restored_dir)).toMatch(/project 1 moved to the server with number 3 after/)
      expect((await request(restored, '1/')).status).not.toBe(200)
      const sent = await fetch(`${restored.url}/batch/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: API_TOKEN, batch: [{ event: 'e', distinct_id: 'ann' }] }),
      })
      expect(sent.status).toBe(503)
      const events = 'select event, count() from events group by event order by event'
      await capture(restored, beside_token, [{ event: 'later', distinct_id: 'ann' }])
      expect(await ask(restored, 2, events)).toEqual([
        ['beside', 1],
        ['later', 1],
      ])
      expect(await rows()).toEqual(before)
      const known = "select count(distinct person_id) from events where distinct_id = 'known'"
      expect(await ask(both, 1, known)).toEqual([[1]])
      // Nothing is left that a later start would have to set aside.
      await restored.stop()
      await (await start('restored')).stop()
      expect(await rows()).toEqual(before)
    },
  )
})
