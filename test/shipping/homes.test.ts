/** Servers that share a ClickHouse: one of them has a project, one copy of a folder sends, whoever comes first. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { getHome } from '../../src/projects/settings/home.ts'
import { createProject, listProjectIds } from '../../src/projects/settings/project.ts'
import { openClaims } from '../../src/serve/home-store.ts'
import { type Control, openControl } from '../../src/storage/control/control-db.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { beginLogId } from '../../src/storage/log/shipments.ts'
import { type ClickHouseCluster, startCluster } from '../clickhouse/cluster.ts'
import { hasClickHouse } from '../clickhouse/library.ts'
import { clickhouseEnvironment } from '../clickhouse/settings.ts'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from '../flows/processes/server.ts'
import { rejectionOf } from '../rejection.ts'
import { askFresh } from './ask-fresh.ts'
import { nodesAt } from './shipping-world.ts'

setDefaultTimeout(120_000)

const NOW = new Date('2026-03-01T00:00:00.000Z')
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

  test('without projects get numbers that no other has, and more when they are used up', async () => {
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

    // The same backup restored again is what somebody wanted last.
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

  const start = async (name: string, env = clickhouseEnvironment(cluster)): Promise<Server> => {
    const server = await startServer({ data_dir: join(folder, name), env })
    servers.push(server)
    return server
  }

  test('give their projects different numbers without a setting, and mix nothing', async () => {
    const [one, other] = [await start('one'), await start('other')]
    const listIds = async ({ url }: Server): Promise<readonly number[]> => {
      const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
      const answer = await fetch(`${url}/api/projects/`, { headers })
      return ((await answer.json()) as { results: { id: number }[] }).results.map(({ id }) => id)
    }
    expect([await listIds(one), await listIds(other)]).toEqual([[1], [11]])
    for (const [index, { url }] of [one, other].entries()) {
      const body = JSON.stringify({ api_key: API_TOKEN, event: `of ${index}`, distinct_id: 'ann' })
      expect((await fetch(`${url}/capture/`, { method: 'POST', body })).status).toBe(200)
    }
    expect(await askFresh(one.url, 'select event from events')).toEqual([['of 0']])
    const ofOther = await fetch(`${other.url}/api/projects/11/query/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${PERSONAL_API_KEY}` },
      body: JSON.stringify({ query: { kind: 'HogQLQuery', query: 'select event from events' } }),
    })
    expect(((await ofOther.json()) as { results: unknown }).results).toEqual([['of 1']])
  })

  test('one whose project has a number of the other does not start, and keeps its events', async () => {
    const alone = await start('alone', {})
    await alone.stop()
    const refused = await rejectionOf(start('alone'))
    expect(refused).toMatchObject({
      message: expect.stringContaining('project 1 belongs to another server'),
    })
  })
})
