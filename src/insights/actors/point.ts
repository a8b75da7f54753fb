/** One number of an answer, as queries about the people behind it name it. */
import type { Select } from '../../hogql/ast.ts'
import type { InsightContext } from '../insight.ts'

/** Which number; what an insight does not have it does not look at. */
export type ActorsPoint = {
  /** The step of time: `2024-03-01`, in steps of hours and minutes with the time; null for the whole range. */
  readonly day: string | null
  /** Index of the series. */
  readonly series: number
  /** As answers carry it: a text, or a list of them. */
  readonly breakdown: string | number | readonly (string | number)[] | null
  readonly compare: 'current' | 'previous'
  /** Of a lifecycle: `new`, `returning`, `resurrecting`, `dormant`. */
  readonly status: string | null
  /** Of stickiness: how many steps, and how they are compared with that number (`exact`, `gte`, `lte`). */
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
 * Who is behind a number: rows of `actor_id` (a person's id, or a group's key) and `event_count`, how many events made
 * it; each actor once, in no order. Refuses points that the answer does not have.
 */
export type ActorsTree<Question> = (
  query: Question,
  point: ActorsPoint,
  context: InsightContext,
) => Select

/** What may be chosen of an answer's numbers; members that a kind does not have are null. */
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

/** Nothing to choose from. */
export const NO_OPTIONS: PointOptions = {
  day: null,
  interval: null,
  series: null,
  status: null,
  compare: null,
  breakdown: null,
  breakdowns: null,
}

/** The two times of a comparison. */
export const COMPARED = [
  { label: 'Current', value: 'current' },
  { label: 'Previous', value: 'previous' },
] as const
