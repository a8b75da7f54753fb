/** Lists of a project that has many things: the clock is looked at while they are read, so that others have their turn. */
import { beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { type FlagLinks, readLinks } from '../../../src/targeting/flags/flag-links.ts'
import { Slices } from '../../../src/threads/slices.ts'
import { joinWorld } from '../shared-world.ts'
import { openTwoPlaces, type Place } from '../two-places.ts'

const world = await joinWorld()

setDefaultTimeout(60_000)

const COPIES = 1200
/** Narrow rows that are read between two looks at the clock. */
const ROWS_BETWEEN = 500

let home: Place
beforeAll(async () => {
  home = (await openTwoPlaces(world)).home
  await planChange()
  for (const table of TABLES) copyRow(table)
})

/** Tables, and how each copy differs from the row that it is made of. */
const TABLES = [
  { name: 'insights', unique: { id: '1000 + n', short_id: "'c' || n" } },
  { name: 'annotations', unique: { id: '1000 + n' } },
  { name: 'insight_variables', unique: { id: 'id || n', code_name: 'code_name || n' } },
  { name: 'scheduled_changes', unique: { id: '1000 + n' } },
  { name: 'experiments', unique: { id: '1000 + n' } },
  { name: 'surveys', unique: { id: 'id || n', name: 'name || n' } },
  { name: 'early_access_features', unique: { id: 'id || n' } },
] as const satisfies readonly { readonly name: string; readonly unique: object }[]

function copyRow({ name, unique }: (typeof TABLES)[number]): void {
  const db = world.needs.control
  const columns = db
    .all<{ readonly name: string }>(sql.raw(`select name from pragma_table_info('${name}')`))
    .map((column) => column.name)
  const changed: Readonly<Record<string, string>> = unique
  const values = columns.map((column) => changed[column] ?? `"${column}"`)
  const names = columns.map((column) => `"${column}"`).join(', ')
  const copies = `
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${COPIES}),
      first as (select * from ${name} where project_id = ${home.project_id} limit 1)
    insert into ${name} (${names})
    select ${values.join(', ')} from first, numbers`
  db.run(sql.raw(copies))
}

async function planChange(): Promise<void> {
  const [flag_id = ''] = home.ids.get('feature_flags') ?? []
  const answer = await home.send(
    'POST',
    `/api/projects/${home.project_id}/scheduled_changes/`,
    JSON.stringify({
      record_id: flag_id,
      model_name: 'FeatureFlag',
      payload: { operation: 'update_status', value: false },
      scheduled_at: '2099-01-01T00:00:00Z',
    }),
  )
  if (answer.status !== 201) throw new Error(await answer.text())
}

/** How often the clock is looked at while something runs. */
async function looksDuring(run: () => Promise<unknown>): Promise<number> {
  const isOver = spyOn(Slices.prototype, 'isOver')
  try {
    await run()
    return isOver.mock.calls.length
  } finally {
    isOver.mockRestore()
  }
}

describe('a page of one thing, of many', () => {
  test.each([
    'insights/?search=n',
    'insights/?insight=TRENDS',
    'annotations/',
    'insight_variables/',
    'scheduled_changes/',
  ])('%s looks at the clock for each of them', async (path) => {
    const separator = path.includes('?') ? '&' : '?'
    const looks = await looksDuring(async () => {
      const answer = await home.send(
        'GET',
        `/api/projects/${home.project_id}/${path}${separator}limit=1`,
      )
      expect(answer.status).toBe(200)
      await answer.arrayBuffer()
    })
    expect(looks).toBeGreaterThan(COPIES)
  })
})

test('a page of annotations has a thousand of them, since charts read them without a limit', async () => {
  const path = `/api/projects/${home.project_id}/annotations/`
  const answer = await home.send('GET', path)
  const { count, results } = (await answer.json()) as { count: number; results: unknown[] }
  expect(count).toBeGreaterThan(COPIES)
  expect(results).toHaveLength(Math.min(count, 1000))
})

test('what is linked to one flag is read in pages, and each of it once', async () => {
  const db = world.needs.control
  const [flag_id = 0] = (home.ids.get('feature_flags') ?? []).map(Number)
  for (const [table, column] of [
    ['experiments', 'feature_flag_id'],
    ['surveys', 'linked_flag_id'],
    ['early_access_features', 'feature_flag_id'],
  ]) {
    db.run(
      sql.raw(`update ${table} set ${column} = ${flag_id} where project_id = ${home.project_id}`),
    )
  }
  const found: { links: FlagLinks[] } = { links: [] }
  const looks = await looksDuring(async () => {
    const linksOf = await readLinks(db, home.project_id)
    found.links = [linksOf(flag_id)]
  })
  expect(looks).toBeGreaterThanOrEqual(3 * Math.floor(COPIES / ROWS_BETWEEN))
  const counts = found.links.map(({ experiment_set, surveys, features }) => [
    new Set(experiment_set).size,
    new Set(surveys.map(({ id }) => id)).size,
    new Set(features.map(({ id }) => id)).size,
  ])
  // Two experiments were there before: one on a flag, one of a web experiment.
  expect(counts).toEqual([[COPIES + 2, COPIES + 1, COPIES + 1]])
})
