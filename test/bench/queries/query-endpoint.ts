/** What the query endpoint costs on top of the query itself: whole answers beside the engine's own share of them. */
import { PERSONAL_API_KEY } from '../../flows/processes/server.ts'

export type QueryTimes = {
  /** Median of the whole, as the caller sees it. */
  readonly whole_ms: number
  /** Median of what the engine spent on the compiled query: running it and writing its rows. */
  readonly bare_ms: number
}

type Stage = { readonly k: string; readonly t: number }

export const QUERY_PATH = '/api/environments/1/query/'
export const QUERY = `SELECT properties.$browser AS browser, count() AS visits, uniq(distinct_id) AS people
  FROM events WHERE event = '$pageview' GROUP BY browser ORDER BY visits DESC LIMIT 100`

/** The body of a query that takes what the cache has, or that is computed every time. */
export function queryBody(refresh: 'blocking' | 'force_blocking'): unknown {
  return { query: { kind: 'HogQLQuery', query: QUERY }, refresh }
}

/** Asks one after the other. */
export async function queryTimes(port: number, count: number): Promise<QueryTimes> {
  const whole: number[] = []
  const bare: number[] = []
  for (let number = 0; number < count; number++) {
    const started_ms = performance.now()
    const answer = await fetch(`http://127.0.0.1:${port}${QUERY_PATH}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${PERSONAL_API_KEY}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify(queryBody('force_blocking')),
    })
    const text = await answer.text()
    whole.push(performance.now() - started_ms)
    const timings: readonly Stage[] = JSON.parse(text).timings
    const engine = timings.filter(({ k }) => k === './execute' || k === './read_rows')
    bare.push(engine.reduce((sum, { t }) => sum + t * 1000, 0))
  }
  return { whole_ms: median(whole), bare_ms: median(bare) }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
