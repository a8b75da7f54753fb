/** windowFunnel over one actor's sorted rows: the furthest level reached within a window after its start. */

import type { ScalarFunction } from './definition.ts'

/** Modes, as bits. */
export const FUNNEL_MODES = {
  strict_deduplication: 1,
  strict: 1,
  strict_order: 2,
  strict_increase: 4,
  strict_once: 8,
  allow_reentry: 16,
} as const satisfies Record<string, number>

/** A row that matches a condition: its time, the condition's number (0 for none), and the row's index. */
type FunnelEvent = { readonly at: bigint; readonly level: number; readonly row: number }

type FunnelModes = {
  readonly window: bigint
  readonly is_unique: boolean
  readonly is_ordered: boolean
  readonly is_increasing: boolean
  readonly is_once: boolean
  readonly is_reentrant: boolean
}

/** A path to a level: when it began, when it reached the level, and over which rows. */
type FunnelPath = {
  readonly since: bigint
  readonly last: bigint
  readonly rows: readonly number[]
}

/** Maximum paths per level: a row that matches every condition would double them with each level. */
const PATHS_MAX = 1000

/** Rows as events: one per condition a row matches, lower conditions first. */
function stepsOf(
  times: readonly bigint[],
  masks: readonly bigint[],
  levels: number,
): readonly FunnelEvent[] {
  return times.flatMap((at, row) => {
    const mask = Number(masks[row] ?? 0n)
    if (mask === 0) return [{ at, level: 0, row }]
    const met = Array.from({ length: levels }, (_, index) => index + 1)
    return met
      .filter((level) => (mask & (2 ** (level - 1))) !== 0)
      .map((level) => ({ at, level, row }))
  })
}

/** Sorted by time; at equal times lower conditions come first. */
function inOrder(steps: readonly FunnelEvent[]): readonly FunnelEvent[] {
  return steps.toSorted((a, b) =>
    a.at === b.at ? a.level - b.level || a.row - b.row : a.at < b.at ? -1 : 1,
  )
}

function funnel(
  times: readonly bigint[],
  masks: readonly bigint[],
  [levels, window, bits]: readonly bigint[],
): bigint {
  const modes = modesOf(Number(bits ?? 0n), window ?? 0n)
  const count = Number(levels ?? 0n)
  const steps = inOrder(stepsOf(times, masks, count))
  const paths: (readonly FunnelPath[])[] = Array.from({ length: count }, () => [])
  for (const step of steps) {
    if (takeStep(paths, step, modes) === 'stop') break
    if ((paths.at(-1)?.length ?? 0) > 0) return BigInt(count)
  }
  return BigInt(paths.findLastIndex((known) => known.length > 0) + 1)
}

function modesOf(bits: number, window: bigint): FunnelModes {
  const has = (bit: number): boolean => (bits & bit) !== 0
  return {
    window,
    is_unique: has(FUNNEL_MODES.strict_deduplication),
    is_ordered: has(FUNNEL_MODES.strict_order),
    is_increasing: has(FUNNEL_MODES.strict_increase),
    is_once: has(FUNNEL_MODES.strict_once),
    is_reentrant: has(FUNNEL_MODES.allow_reentry),
  }
}

/** Whether the fold continues. */
type FunnelEnd = 'continue' | 'stop'

function takeStep(
  paths: (readonly FunnelPath[])[],
  step: FunnelEvent,
  modes: FunnelModes,
): FunnelEnd {
  const { at, level, row } = step
  const has_begun = (paths[0]?.length ?? 0) > 0
  if (level === 0) return modes.is_ordered && has_begun ? 'stop' : 'continue'
  if (level === 1) {
    const begun: FunnelPath = { since: at, last: at, rows: [row] }
    paths[0] = modes.is_once ? [...(paths[0] ?? []), begun].slice(-PATHS_MAX) : [begun]
    return 'continue'
  }
  if (modes.is_unique && (paths[level - 1]?.length ?? 0) > 0) return 'stop'
  const before = paths[level - 2] ?? []
  if (before.length === 0) {
    return modes.is_ordered && has_begun && !modes.is_reentrant ? 'stop' : 'continue'
  }
  const further = before.flatMap((path) =>
    fits(path, step, modes) ? [extendPath(path, step)] : [],
  )
  if (further.length > 0)
    paths[level - 1] = modes.is_once
      ? [...(paths[level - 1] ?? []), ...further].slice(-PATHS_MAX)
      : further
  return 'continue'
}

function fits(path: FunnelPath, { at, row }: FunnelEvent, modes: FunnelModes): boolean {
  if (at > path.since + modes.window) return false
  if (modes.is_increasing && path.last >= at) return false
  return !modes.is_once || !path.rows.includes(row)
}

function extendPath(path: FunnelPath, { at, row }: FunnelEvent): FunnelPath {
  return { since: path.since, last: at, rows: [...path.rows, row] }
}

export const WINDOW_FUNNEL: readonly ScalarFunction[] = [
  {
    name: 'js_window_funnel',
    takes: [{ list: 'integer' }, { list: 'integer' }, { list: 'integer' }],
    gives: 'integer',
    compute: funnel,
  },
]
