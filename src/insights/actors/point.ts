/** ActorsPoint: one number of an insight's answer, as actor queries identify it. */
import type { Select } from '../../hogql/syntax/ast.ts'
import type { InsightContext } from '../insight.ts'

/** The coordinates of a number; an insight ignores those it does not have. */
export type ActorsPoint = {
  /** The bucket: `2024-03-01`, with the time for hours and minutes; null for the whole range. */
  readonly day: string | null
  /** Index of the series. */
  readonly series: number
  /** A breakdown value as in the answer: a text, or a list of them. */
  readonly breakdown: string | number | readonly (string | number)[] | null
  readonly compare: 'current' | 'previous'
  /** Lifecycle status: `new`, `returning`, `resurrecting`, `dormant`. */
  readonly status: string | null
  /** Stickiness: number of buckets, and how to compare with it (`exact`, `gte`, `lte`). */
  readonly steps: number | null
  readonly operator: string | null
}

/** The first number of an answer. */
export const FIRST_POINT: ActorsPoint = {
  day: null,
  series: 0,
  breakdown: null,
  compare: 'current',
  status: null,
  steps: null,
  operator: null,
}

/**
 * Builds rows of `actor_id` (a person's id, or a group's key) and `event_count` (events that
 * contribute to the number); each actor once, unordered. Refuses points that the answer does not
 * have.
 */
export type ActorsTree<Query> = (
  query: Query,
  point: ActorsPoint,
  context: InsightContext,
) => Select

/** The choices of an answer's coordinates; null for those a kind does not have. */
export type PointOptions = {
  readonly day: readonly { readonly label: string; readonly value: string | number }[] | null
  readonly interval: readonly { readonly label: string; readonly value: number }[] | null
  readonly series: readonly { readonly label: string; readonly value: number }[] | null
  readonly status: readonly { readonly label: string; readonly value: string }[] | null
  readonly compare: readonly { readonly label: string; readonly value: string }[] | null
  readonly breakdown: readonly { readonly label: string; readonly value: string | number }[] | null
  readonly breakdowns:
    | readonly { readonly values: readonly { readonly label: string; readonly value: string }[] }[]
    | null
}

/** No choices. */
export const NO_OPTIONS: PointOptions = {
  day: null,
  interval: null,
  series: null,
  status: null,
  compare: null,
  breakdown: null,
  breakdowns: null,
}

/** The two periods of a comparison. */
export const COMPARED = [
  { label: 'Current', value: 'current' },
  { label: 'Previous', value: 'previous' },
] as const
