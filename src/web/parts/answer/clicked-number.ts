/** A number of an answer that was clicked: what it is, and the question for the persons behind it. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import type { PropertyCondition } from '../filters/conditions.ts'

export type ClickedNumber = {
  /** The heading of the dialog: `Page view · 16 Nov`. */
  readonly title: string
  readonly value: number
  /** How it is shown; as a plain number without it. */
  readonly text?: string
  /** Conditions that keep only what the number counts, where it is one value of a breakdown. */
  readonly filters?: readonly PropertyCondition[]
  /** The question for who is behind it; missing where no persons are behind it, as behind a formula. */
  readonly source?: AnyQuery
}
