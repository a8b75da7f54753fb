/** Insights beside SQL written by hand for the same numbers, over the data set: how much the way to them costs. */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QueryEngine } from '../../../src/query/engine/engine.ts'
import type { WorkerQuery } from '../../../src/query/engine/protocol.ts'
import { prepareInsight } from '../../../src/query/kinds/insight.ts'
import type { QueryContext } from '../../../src/query/kinds/prepared-query.ts'
import { DefinitionReader } from '../../../src/storage/files/definition-reader.ts'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { handwritten } from '../../query/handwritten-sql.ts'
import { DATASET_END_US, ensureDataset } from '../dataset/dataset.ts'
import { IS_SMALL } from '../sizes.ts'
import type { InsightLine } from './insight-line.ts'
import { PEOPLE_LINES } from './insights-actors.ts'
import { FUNNEL_LINES } from './insights-funnels.ts'
import { PERSON_LINES } from './insights-persons.ts'
import { TREND_LINES } from './insights-trends.ts'

/** The time of both, in milliseconds: the best of some rounds, taken in turns. */
export type InsightTimes = {
  readonly name: string
  readonly ours_ms: number
  readonly bare_ms: number
}

const ROUNDS = IS_SMALL ? 1 : 3
const AMPLE_MS = 600_000
const NOW = new Date(DATASET_END_US / 1000)

/** Every insight that is measured; one line each. */
export const INSIGHT_LINES: readonly InsightLine[] = [
  ...TREND_LINES,
  ...FUNNEL_LINES,
  ...PERSON_LINES,
  ...PEOPLE_LINES,
]

/** A small round takes every fourth, unless `EVERY_CASE=1` asks for all. */
const MEASURED =
  IS_SMALL && process.env['EVERY_CASE'] !== '1'
    ? INSIGHT_LINES.filter((_, at) => at % 4 === 0)
    : INSIGHT_LINES

const NO_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Measures every line whose name contains `wanted`, on a data set of a number of events. */
export async function insightTimes(
  data_dir: string,
  events: number,
  wanted = '',
): Promise<readonly InsightTimes[]> {
  await ensureDataset(data_dir, events)
  // A folder that an earlier version made is brought up to date, as a server would.
  new EventLog(data_dir).close()
  const engine = new QueryEngine({
    data_dir,
    settings: {
      memory_mb: 2048,
      spill_mb: 20_000,
      threads: 2,
      result_bytes_max: 64_000_000,
      running_max: 1,
      waiting_max: 4,
    },
    log: NO_LOG,
  })
  const asking = contextOfDataset(data_dir)
  const times: InsightTimes[] = []
  for (const line of MEASURED.filter(({ name }) => name.includes(wanted))) {
    times.push(await timesOf(line, engine, asking))
  }
  await engine.close()
  return times
}

/** The context of project 1 of a data set. */
export function contextOfDataset(data_dir: string): QueryContext {
  const definitions = new DefinitionReader(data_dir)
  return {
    project: {
      id: 1,
      timezone: 'UTC',
      week_start_day: 0,
      test_account_filters: [],
      hidden_tables: [],
    },
    property_types: definitions.propertyTypes(1),
    rows_max: 50_000,
  }
}

async function timesOf(
  { name, query, sql }: InsightLine,
  engine: QueryEngine,
  asking: QueryContext,
): Promise<InsightTimes> {
  const ours: number[] = []
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(
      await spent(() =>
        prepareInsight(query, asking).compute(
          (sent) => engine.run(sent, { timeout_ms: AMPLE_MS }),
          NOW,
        ),
      ),
    )
    bare.push(await spent(() => engine.run(byHand(sql), { timeout_ms: AMPLE_MS })))
  }
  return { name, ours_ms: Math.min(...ours), bare_ms: Math.min(...bare) }
}

function byHand(sql: string): WorkerQuery {
  return {
    project_id: 1,
    ...handwritten(sql),
    values: [{ type: 'BIGINT', text: '1' }],
    types: [],
    timezone: 'UTC',
    rows_max: 500_000,
    more_is_too_many: false,
  }
}

async function spent(work: () => Promise<unknown>): Promise<number> {
  const started_ms = performance.now()
  await work()
  return performance.now() - started_ms
}

if (import.meta.main) {
  const events = Number(process.argv[2] ?? 1_000_000)
  const data_dir = process.argv[3] ?? join(tmpdir(), `tidemark-${events}`)
  for (const { name, ours_ms, bare_ms } of await insightTimes(data_dir, events, process.argv[4])) {
    const ratio = (ours_ms / bare_ms).toFixed(2)
    process.stdout.write(
      `${name}: ${ours_ms.toFixed(0)} ms, by hand ${bare_ms.toFixed(0)} ms = ${ratio} × the time\n`,
    )
  }
}
