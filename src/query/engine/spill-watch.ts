/** Measures the bytes that queries have spilled to disk per project, and finds the project to stop above a limit. */

import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { Refusal } from '../../errors.ts'

/** Disk space reserved for the event log: this much, or this share of a small disk. */
const RESERVE_BYTES = 1024 * MIB
const RESERVE_SHARE = 0.1
/** Unit of `blocks` in the result of stat. */
const STAT_BLOCK_BYTES = 512
const RETRY_AFTER_S = 30

export type SpillLimits = {
  /** The data folder, whose disk the event log needs as well. */
  readonly data_dir: string
  /** Limit of all queries together, in MiB. */
  readonly spill_mb: number
}

/** The project with the most spilled bytes, and the refusal of its queries. */
type SpillFault = { readonly project_id: number; readonly refusal: Refusal }

/** Finds the project to stop; null below the limits. `spill_dir` has a folder `<project id>-<number>` per open project. */
export function findSpillFault(spill_dir: string, limits: SpillLimits): SpillFault | null {
  const spilled = measureSpill(spill_dir)
  const total = [...spilled.values()].reduce((sum, bytes) => sum + bytes, 0)
  if (total === 0) return null
  const refusal = findSpillRefusal(total, limits)
  if (refusal === null) return null
  const [project_id] = [...spilled].reduce((most, next) => (next[1] > most[1] ? next : most))
  return { project_id, refusal }
}

/** The refusal of queries that have `total` bytes on disk together; null below the limits. */
export function findSpillRefusal(
  total: number,
  { data_dir, spill_mb }: SpillLimits,
): Refusal | null {
  if (total > spill_mb * MIB) return tooMuchSpilled(spill_mb)
  return isDiskShort(data_dir) ? diskShort() : null
}

/** The refusal of a query that needs more room on disk than all queries may use together. */
function tooMuchSpilled(spill_mb: number): Refusal {
  const detail = `The query needs more room on disk than queries may use (${spill_mb} MB). Ask for less at a time.`
  return new Refusal('query_too_large', detail)
}

function diskShort(): Refusal {
  const detail = 'The query needs room on disk, and the disk is nearly full.'
  return new Refusal('storage_unavailable', detail, { retry_after_s: RETRY_AFTER_S })
}

/** Bytes on disk by project. */
function measureSpill(spill_dir: string): ReadonlyMap<number, number> {
  const spilled = new Map<number, number>()
  for (const folder of namesIn(spill_dir)) {
    const project_id = Number(folder.split('-', 1)[0])
    const bytes = namesIn(join(spill_dir, folder))
      .map(
        (name) => statSync(join(spill_dir, folder, name), { throwIfNoEntry: false })?.blocks ?? 0,
      )
      .reduce((sum, blocks) => sum + blocks * STAT_BLOCK_BYTES, 0)
    if (bytes > 0) spilled.set(project_id, (spilled.get(project_id) ?? 0) + bytes)
  }
  return spilled
}

/** Lists a folder; empty when it was removed, as when its project was closed meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isDiskShort(data_dir: string): boolean {
  const { bavail, blocks, bsize } = statfsSync(data_dir)
  return bavail * bsize < Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE)
}
