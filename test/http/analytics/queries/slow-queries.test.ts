/** Slow queries in the log: their HogQL, the engine's plan, and no values. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { QueryService } from '../../../../src/query/service/service.ts'
import { createTimings } from '../../../../src/threads/timings.ts'
import { openWorld, SERVICE_SETTINGS, type World } from '../../world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

type LoggedLine = Readonly<Record<string, unknown>>

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

/** Asks a world whose queries are slow after that time; returns what it logged once `count` lines are there. */
async function linesAfter(
  query: object,
  settings: { readonly slow_ms: number; readonly has_plan: boolean },
  count: number,
): Promise<readonly LoggedLine[]> {
  const lines: LoggedLine[] = []
  const queries = new QueryService({
    data_dir: world.data_dir,
    engine: world.engine,
    settings: { ...SERVICE_SETTINGS, ...settings },
    timings: createTimings(),
    log: { error: () => undefined, warn: (fields, msg) => lines.push({ ...fields, msg }) },
    now: () => new Date(),
  })
  await using asked = await openWorld({ query_service: queries })
  await asked.send('/api/environments/1/query/', {
    method: 'POST',
    headers: { Authorization: `Bearer ${asked.first.personal_api_key}` },
    body: JSON.stringify({ query, refresh: 'force_blocking' }),
  })
  while (lines.length < count) await Bun.sleep(5)
  queries.close()
  return lines
}

const hogql = (query: string) => ({ kind: 'HogQLQuery', query })

test('a query that takes longer is logged with its HogQL and its statement, without its values', async () => {
  const query = "select count() from events where distinct_id = 'anna@example.com'"
  const [line] = await linesAfter(hogql(query), { slow_ms: 1, has_plan: false }, 1)
  expect(line).toMatchObject({
    msg: 'a slow query',
    project_id: 1,
    labels: ['HogQLQuery'],
    hogql: expect.stringContaining('anna@example.com'),
    ms: expect.any(Number),
  })
  expect(String(line?.['sql'])).toContain('count')
  expect(String(line?.['sql'])).not.toContain('anna@example.com')
})

test('its plan is logged where that is asked for', async () => {
  const lines = await linesAfter(
    hogql('select event, count() from events group by event'),
    { slow_ms: 1, has_plan: true },
    2,
  )
  expect(lines[1]).toMatchObject({ msg: 'the plan of a slow query', project_id: 1 })
  expect(String(lines[1]?.['plan'])).toContain('HASH_GROUP_BY')
})

test('an insight is logged with the HogQL that it is', async () => {
  const trends = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'visit' }] }
  const [line] = await linesAfter(trends, { slow_ms: 1, has_plan: false }, 1)
  expect(line).toMatchObject({
    labels: ['TrendsQuery'],
    hogql: expect.stringMatching(/select[^]*'visit'/i),
  })
})

test('a query that fails is logged with its text and its error', async () => {
  const text = "select throwIf(count() >= 0, 'no') from events"
  const [line] = await linesAfter(hogql(text), { slow_ms: 1, has_plan: false }, 1)
  expect(line).toMatchObject({ hogql: text, error: expect.any(String) })
})

test('a fast query is not logged, and none when that is off', async () => {
  const query = hogql('select count() from events')
  expect(await linesAfter(query, { slow_ms: 3_600_000, has_plan: false }, 0)).toEqual([])
  expect(await linesAfter(query, { slow_ms: 0, has_plan: true }, 0)).toEqual([])
})
