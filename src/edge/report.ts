/** EdgeReport: the state of an edge, which it sends with every batch; the home lists the last one of each edge. */
import { isObject } from '../json.ts'

/** Times are in seconds. */
export type EdgeReport = {
  /** The edge's name: `TIDEMARK_EDGE_NAME`, or the name of its machine. */
  readonly name: string
  /** The version of the wire that it speaks. */
  readonly wire: number
  /** Entries that the home has not confirmed, and their events and bytes. */
  readonly backlog_entries: number
  readonly backlog_events: number
  readonly backlog_bytes: number
  /** Age of the oldest of them; 0 without any. */
  readonly lag_s: number
  /** Time since the definitions were last found to be current; null before the first time. */
  readonly definitions_age_s: number | null
  /** The edge's clock when it sent the report, ms since 1970 UTC. */
  readonly clock_ms: number
  /** Projects of the definitions that it has. */
  readonly projects: readonly number[]
}

/** The version of the wire between edges and home; `README.md` describes it. */
export const WIRE_VERSION = 1

/** Longer names are cut; a name has letters, digits, dots, hyphens and underscores. */
const EDGE_NAME = /^[\w.-]{1,64}$/

const COUNTS = ['backlog_entries', 'backlog_events', 'backlog_bytes', 'lag_s', 'clock_ms'] as const

/** Reads a report; null for anything else. */
export function readReport(text: string): EdgeReport | null {
  const value = parse(text)
  if (!isObject(value)) return null
  const { name, wire, definitions_age_s: age, projects } = value
  const is_named = typeof name === 'string' && EDGE_NAME.test(name)
  const has_counts = COUNTS.every((count) => isAmount(value[count]))
  const has_projects = Array.isArray(projects) && projects.every(isAmount)
  if (!is_named || !has_counts || !has_projects || !isAmount(wire)) return null
  if (age !== null && !isAmount(age)) return null
  return value as EdgeReport
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
