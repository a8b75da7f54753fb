/** A server whose events are in ClickHouse, asked over HTTP: insights that fold, files of every form, and a cancel. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { API_TOKEN, PERSONAL_API_KEY, type Server, startServer } from '../flows/processes/server.ts'
import { askFresh } from '../shipping/ask-fresh.ts'
import { type ClickHouseCluster, startCluster } from './cluster.ts'
import { hasClickHouse } from './library.ts'
import { clientOf } from './rows.ts'
import { clickhouseEnvironment } from './settings.ts'

describe.skipIf(!hasClickHouse())('queries to a server with ClickHouse', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-serve-queries-'))
  let cluster: ClickHouseCluster
  let server: Server

  beforeAll(async () => {
    cluster = await startCluster(2)
    server = await startServer({
      data_dir: join(folder, 'data'),
      env: clickhouseEnvironment(cluster),
    })
  }, 120_000)

  afterAll(async () => {
    await server?.stop()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  const ask = async (query: object, format = 'json'): Promise<Response> =>
    fetch(`${server.url}/api/projects/1/query/?format=${format}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${PERSONAL_API_KEY}`,
      },
      body: JSON.stringify({ query }),
    })
  const results = async (query: object): Promise<unknown> => {
    const answer = await ask(query)
    expect(answer.status).toBe(200)
    const { results: rows } = (await answer.json()) as { results: unknown }
    return rows
  }
  const node = (event: string) => ({ kind: 'EventsNode', event })
  const dateRange = { date_from: '-1d' }
  const funnel = { kind: 'FunnelsQuery', series: ['a', 'b', 'c'].map(node), dateRange }

  test('answer funnels, paths and the actors behind them from two shards', async () => {
    const begin = Date.now() - 3_600_000
    // A third of the persons does one, two and three things.
    const batch = Array.from({ length: 30 }, (_, person) =>
      ['a', 'b', 'c'].slice(0, 1 + (person % 3)).map((event, index) => ({
        event,
        distinct_id: `d${person}`,
        timestamp: new Date(begin + index * 60_000).toISOString(),
        properties: { n: person },
      })),
    ).flat()
    const captured = await fetch(`${server.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: API_TOKEN, batch }),
    })
    expect(captured.status).toBe(200)
    expect(await askFresh(server.url, 'select count() from events')).toEqual([[60]])
    expect(await results(funnel)).toMatchObject([{ count: 30 }, { count: 20 }, { count: 10 }])
    expect(await results({ kind: 'PathsQuery', pathsFilter: {}, dateRange })).toMatchObject([
      { source: '1_a', target: '2_b', value: 20 },
      { source: '2_b', target: '3_c', value: 10 },
    ])
    const source = { kind: 'FunnelsActorsQuery', source: funnel, funnelStep: -3 }
    expect(await results({ kind: 'ActorsQuery', select: ['id'], source })).toHaveLength(10)
  }, 60_000)

  test('call functions that ClickHouse spells otherwise, and patterns over aggregates', async () => {
    const query = `select max(event) as name, substring(SHA256('abc'), 1, 8), substring(SHA1('abc'), 1, 8),
  json_agg(1 = 1) like '%]', sparkline([count()]).4, recordingButton('s').4
from events group by event having name like 'a%' or name like 'b%' order by name`
    expect(await results({ kind: 'HogQLQuery', query })).toEqual([
      ['a', 'BA7816BF', 'A9993E36', 1, [30], 's'],
      ['b', 'BA7816BF', 'A9993E36', 1, [20], 's'],
    ])
  }, 60_000)

  test('name thousands of texts and persons in lists, as they are', async () => {
    const odd = [
      "it's",
      'a\\b',
      'line\nbreak',
      'tab\t',
      'nul\0',
      '',
      "'",
      '\\',
      "\\'",
      'à 🌊',
      '{p1}',
    ]
    const quoted = [
      ...odd,
      ...Array.from({ length: 3000 }, (_, index) => `${index} ${'x'.repeat(8)}`),
    ]
      .map(
        (text) =>
          `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`,
      )
      .join(',')
    const nodes = odd.map(
      (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')}'`,
    )
    const ids = (await results({
      kind: 'HogQLQuery',
      query: 'select toString(id) from persons',
    })) as readonly (readonly string[])[]
    const others = Array.from({ length: 2000 }, () => [Bun.randomUUIDv7()])
    const persons = [...ids.slice(0, 7), ...others].map(([id]) => `'${id}'`).join(',')
    expect(
      await results({
        kind: 'HogQLQuery',
        query: `select
  (select arraySort(groupArray(text)) = arraySort([${nodes.join(',')}])
   from (select arrayJoin([${nodes.join(',')}]) as text) where text in (${quoted})),
  (select count() from events where distinct_id not in (${quoted}, 'd1', 'd3')),
  (select count(distinct person_id) from events where person_id in (${persons})),
  length([${quoted}]), [${quoted}][3]`,
      }),
    ).toEqual([[1, 57, 7, 3011, 'line\nbreak']])
  }, 60_000)

  test('are written in every form of files', async () => {
    const query = {
      kind: 'HogQLQuery',
      query:
        'select event, timestamp, properties.n, person_id, [event] from events order by event, timestamp',
    }
    for (const format of ['csv', 'ndjson', 'arrow', 'parquet', 'xlsx']) {
      const answer = await ask(query, format)
      expect([format, answer.status]).toEqual([format, 200])
      await Bun.write(join(folder, `rows.${format}`), answer)
    }
    const instance = await DuckDBInstance.create()
    const connection = await instance.connect()
    const read = await connection.runAndReadAll(
      `select count(*), count(distinct person_id), min(typeof(timestamp)), max("[event]"[1]) from '${join(folder, 'rows.parquet')}'`,
    )
    expect(read.getRowsJson()).toEqual([['60', '30', 'TIMESTAMP WITH TIME ZONE', 'c']])
    const csv = await Bun.file(join(folder, 'rows.csv')).text()
    expect(csv.trimEnd().split('\r\n')).toHaveLength(61)
    const folded = {
      kind: 'HogQLQuery',
      query: "select languageCodeToName('de'), event from events",
    }
    expect((await ask(folded, 'parquet')).status).toBe(200)
  }, 60_000)

  test('are refused where a value has no form in a file', async () => {
    const answer = await ask({ kind: 'HogQLQuery', query: 'select reverse(NULL)' }, 'parquet')
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'query_failed' }])
  }, 60_000)

  test('end in ClickHouse when they are cancelled', async () => {
    const client_query_id = 'endless'
    const query =
      'select sum(cityHash64(a.number + b.number)) from numbers(1000000) as a cross join numbers(1000000) as b'
    const url = `${server.url}/api/projects/1/query/`
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${PERSONAL_API_KEY}`,
    }
    const body = JSON.stringify({ query: { kind: 'HogQLQuery', query }, client_query_id })
    const asked = fetch(url, { method: 'POST', headers, body })
    const running = async (): Promise<number> =>
      Number(
        await clientOf(cluster).run(
          "SELECT count() FROM system.processes WHERE user = 'queries' AND query LIKE '%cityHash64%'",
        ),
      )
    const until = async (count: number): Promise<void> => {
      for (let tries = 0; tries < 400 && (await running()) !== count; tries += 1)
        await Bun.sleep(50)
      expect(await running()).toBe(count)
    }
    await until(1)
    const cancelled = await fetch(`${url}${client_query_id}/`, { method: 'DELETE', headers })
    expect(cancelled.status).toBe(204)
    expect((await asked).status).toBeGreaterThanOrEqual(400)
    await until(0)
  }, 60_000)
})
