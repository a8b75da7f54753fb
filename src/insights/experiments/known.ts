/** Experiments as questions know them: plain data, to be named by id. */
import { Refusal } from '../../errors.ts'
import type { Trial } from './trees.ts'

/** What a question needs of an experiment. */
export type KnownExperiment = {
  readonly id: number
  readonly flag_key: string
  /** The variants that are compared, the control first. */
  readonly variants: readonly string[]
  readonly start_date: Date | null
  readonly end_date: Date | null
}

/** When the experiment runs, as far as it has run. Refuses one that has not begun, naming `attr`. */
export function trialOf(
  { flag_key, start_date, end_date }: Omit<KnownExperiment, 'id' | 'variants'>,
  now: Date,
  attr: string,
): Trial {
  if (start_date !== null) return { flag_key, from: start_date, to: end_date ?? now }
  throw new Refusal('invalid_input', 'The experiment has not started.', { attr })
}

/** The experiment that a question names. Refuses ids of which there are none. */
export function getKnown(known: readonly KnownExperiment[], id: number): KnownExperiment {
  const experiment = known.find((one) => one.id === id)
  if (experiment !== undefined) return experiment
  const detail = `There is no experiment with ID ${id}.`
  throw new Refusal('invalid_input', detail, { attr: 'query__experiment_id' })
}
