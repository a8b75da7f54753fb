/** What the tests of snapshots share: jobs, mixed events, and a fingerprint of everything a project has. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryEngine } from '../../src/query/engine/engine.ts'
import type { ReplicaRule, SnapshotContext } from '../../src/snapshots/dependencies.ts'
import { FAULT_POINTS, type FaultPoint } from '../../src/snapshots/fault-injection.ts'
import { createSnapshotJob, type SnapshotJob } from '../../src/snapshots/job.ts'
import type { CompactionRule } from '../../src/snapshots/plan-compaction.ts'
import { listAllFiles } from '../../src/storage/files/manifest.ts'
import { EVENT_COLUMNS } from '../../src/storage/files/replication-sources.ts'
import type { FileRow } from '../../src/storage/log/event-log.ts'
import { ask, MARCH_US, type World } from '../query/world.ts'

export const DAY_US = 86_400_000_000
export const NO_READERS = { adoptManifest: async () => undefined, reopenProject: () => undefined }
export const NO_LOG = { info: () => undefined, error: () => undefined }

/** Between two queries beside a snapshot process: it has a lower priority, and would wait for those asked without a pause. */
export const PAUSE_MS = 20

const ALL_COLUMNS = EVENT_COLUMNS.map(([name]) => `"${name}"`).join(', ')

/** Everything of every event but its place: equal before and after when nothing was lost, doubled or changed. */
export const FINGERPRINT = `
select count(*), count(distinct uuid), sum(seq), min(seq), max(seq), sum(hash(${ALL_COLUMNS})::hugeint)
from events_of($1)`

export type JobOptions = {
  readonly readers?: SnapshotContext['readers']
  readonly capture?: World['capture']
  readonly fault?: FaultPoint
  readonly log?: SnapshotContext['log']
  readonly rows?: number
  readonly age_s?: number
  readonly length_max?: number
  readonly columns_max?: number
  readonly compaction?: CompactionRule
  readonly replicas?: ReplicaRule
  readonly monthsKept?: SnapshotContext['monthsKept']
  readonly trimmable?: SnapshotContext['trimmable']
}

/** `EVERY_CELL=1` gives each point of a fault, and each step before and after, a folder of its own. */
export const IS_EVERY_CELL = process.env['EVERY_CELL'] === '1'

/** Chains of faults that hit one folder in turn: each leaves it as the process after it finds it. */
export const FAULT_CHAINS: readonly (readonly [name: string, faults: readonly FaultPoint[]])[] =
  IS_EVERY_CELL
    ? FAULT_POINTS.map((fault) => [fault, [fault]])
    : [[FAULT_POINTS.join(', '), FAULT_POINTS]]

/** A step that a server stops at, and whether right after it instead of right before. */
export type Stop<Name extends string> = readonly [name: Name, is_done_first: boolean]

/** Every step before and after; `distinct` are those that leave different folders, which are enough in `check`. */
export function stopsAt<Name extends string>(
  names: readonly Name[],
  distinct: readonly Stop<Name>[],
): Stop<Name>[] {
  if (!IS_EVERY_CELL) return [...distinct]
  return names.flatMap((name) =>
    [false, true].map((is_done_first) => [name, is_done_first] as const),
  )
}

/** A job that does nothing by itself unless told when. */
export function createJob(world: World, options: JobOptions = {}): SnapshotJob {
  const {
    rows = 1e9,
    age_s = 1e9,
    fault = null,
    capture,
    readers,
    log,
    monthsKept,
    trimmable,
    ...settings
  } = options
  return createSnapshotJob({
    data_dir: world.data_dir,
    settings: { rows, age_s, memory_mb: 256, ...settings },
    capture: capture ?? world.capture,
    readers: readers ?? NO_READERS,
    log: log ?? NO_LOG,
    ...(monthsKept === undefined ? {} : { monthsKept }),
    ...(trimmable === undefined ? {} : { trimmable }),
    fault,
  })
}

/** Events of two projects over three months, or fewer days, each different. */
export function sendMixed(world: World, count: number, days = 90): void {
  const events = Array.from({ length: count }, (_, index) => ({
    project_id: 1 + (index % 2),
    event: `event ${index % 7}`,
    distinct_id: `user ${index % 50}`,
    timestamp: MARCH_US + (index % days) * DAY_US + index,
    properties: JSON.stringify({ index, text: `value ${index % 13}`, nested: { list: [index] } }),
    groups: [index % 3 === 0 ? 'acme' : null, null, null, null, null] as const,
  }))
  world.send(...events)
}

/** Asked one after the other: queries of two projects beside each other make the engine start spare processes. */
export async function fingerprints(engine: QueryEngine): Promise<unknown[]> {
  const first = await ask(engine, FINGERPRINT, { project_id: 1 })
  return [first, await ask(engine, FINGERPRINT, { project_id: 2 })]
}

export const files = (world: World): readonly FileRow[] => listAllFiles(world.log.db)

export const filesOnDisk = (world: World): string[] =>
  readdirSync(join(world.data_dir, 'files'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.parquet'))

export const rowsInLog = (world: World): number =>
  world.log.db.query<{ n: number }, []>('select count(*) as n from events').get()?.n ?? -1

/** A job whose server stops right before or right after one of its steps. */
export function stopping(
  world: World,
  [stop, is_done_first]: Stop<'adoptManifest' | 'commitFiles' | 'trim'>,
): JobOptions {
  const stopAt = async (name: string, work: () => Promise<void>): Promise<void> => {
    if (name !== stop || is_done_first) await work()
    if (name === stop) throw new Error('stopped')
  }
  const { commitFiles, trim, ...capture } = world.capture
  return {
    readers: {
      ...NO_READERS,
      adoptManifest: () => stopAt('adoptManifest', NO_READERS.adoptManifest),
    },
    capture: {
      ...capture,
      commitFiles: (added) => stopAt('commitFiles', () => commitFiles(added)),
      trim: (up_to_seq) => stopAt('trim', () => trim(up_to_seq)),
    },
  }
}

/** What a promise rejects with. */
export function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'nothing',
    (error: Error) => error.message,
  )
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(10)
}
