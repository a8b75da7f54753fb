/** A clicked number of an answer: its label and value, and the query for the actors that it counts. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import type { PropertyCondition } from '../filters/conditions.ts'

export type ClickedNumber = {
  /** The heading of the dialog: `Page view · 16 Nov`. */
  readonly title: string
  readonly value: number
  /** The text to show; a plain number without it. */
  readonly text?: string
  /** Conditions that keep only what the number counts, where it is one value of a breakdown. */
  readonly filters?: readonly PropertyCondition[]
  /** The query for the actors that it counts; missing when it counts none, such as a formula. */
  readonly source?: AnyQuery
}
