/** Lifecycle of an experiment: launch, pause, resume, end, ship, archive, reset. */
import { Refusal } from '../../errors.ts'
import { type Flag, getFlag, updateFlag } from '../flags/flag.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { type Experiment, type ExperimentChanges, updateExperiment } from './experiment.ts'
import { requireExperimentVariants, shipVariant } from './experiment-flag.ts'

/** The state of an experiment; it is paused when it runs and its flag is off. */
type ExperimentStatus = 'draft' | 'paused' | 'running' | 'stopped'

/** The conclusion that an end records. */
export type Conclusion = Pick<ExperimentChanges, 'conclusion' | 'conclusion_comment'>

type ExperimentState = { readonly experiment: Experiment; readonly flag: Flag }

type ExperimentTransition = {
  readonly summary: string
  /** The reason why the transition is impossible; null where it is possible. */
  readonly fault: (at: ExperimentState) => string | null
  readonly changes: (now: Date) => ExperimentChanges
  /** The flag's new `active`; undefined leaves it. */
  readonly flag_active?: boolean
}

/** TRANSITIONS that need no further input. A line adds one, and its route. */
export const TRANSITIONS = {
  launch: {
    summary: 'Begin an experiment that is a draft: its flag is switched on.',
    fault: ({ experiment }) =>
      experiment.start_date === null ? null : 'Experiment has already been launched.',
    changes: (now) => ({ start_date: now }),
  },
  pause: {
    summary: 'Switch the flag of a running experiment off.',
    fault: (at) => faultOfRunning(at, 'Experiment is already paused.', true),
    changes: () => ({}),
    flag_active: false,
  },
  resume: {
    summary: 'Switch the flag of a paused experiment on again.',
    fault: (at) => faultOfRunning(at, 'Experiment is not paused.', false),
    changes: () => ({}),
    flag_active: true,
  },
  reset: {
    summary: 'Make an experiment a draft again; its flag stays as it is.',
    fault: ({ experiment }) =>
      experiment.start_date === null ? 'Experiment is already in draft state.' : null,
    changes: () => ({
      start_date: null,
      end_date: null,
      archived: false,
      conclusion: null,
      conclusion_comment: null,
    }),
  },
  archive: {
    summary: 'Put an experiment that ended away: lists leave it out.',
    fault: ({ experiment }) => {
      if (experiment.archived) return 'Experiment is already archived.'
      return experiment.end_date === null
        ? 'Experiment must be ended before it can be archived.'
        : null
    },
    changes: () => ({ archived: true }),
  },
  unarchive: {
    summary: 'Take an experiment that was put away out again.',
    fault: ({ experiment }) => (experiment.archived ? null : 'Experiment is not archived.'),
    changes: () => ({ archived: false }),
  },
} as const satisfies Record<string, ExperimentTransition>
export type ExperimentTransitionName = keyof typeof TRANSITIONS

/** Applies a transition. Refuses (`invalid_input`) one that is impossible in the present state. */
export function transitionExperiment(
  editor: TargetingEditor,
  experiment: Experiment,
  name: ExperimentTransitionName,
  now: Date,
): Experiment {
  const transition: ExperimentTransition = TRANSITIONS[name]
  const flag = getFlag(editor.control, editor.project.id, experiment.feature_flag_id)
  requireNoFault(transition.fault({ experiment, flag }))
  if (name === 'launch' && flag.deleted) {
    throw new Refusal('invalid_input', 'The feature flag of the experiment has been deleted.')
  }
  if (name === 'launch') requireExperimentVariants(flag)
  return editor.control.transaction(() => {
    const { flag_active: active } = transition
    if (active !== undefined) updateFlag(editor, flag, { active }, now)
    return updateExperiment(editor, experiment, transition.changes(now), now)
  })
}

/** Ends a running experiment; persons keep their variants. Refuses one that has not started or has ended. */
export function endExperiment(
  editor: TargetingEditor,
  experiment: Experiment,
  conclusions: Conclusion,
  now: Date,
): Experiment {
  requireNoFault(faultOfEnding(experiment))
  const { conclusion = null, conclusion_comment = null } = conclusions
  return updateExperiment(
    editor,
    experiment,
    { end_date: now, conclusion, conclusion_comment },
    now,
  )
}

/** The variant to ship, and the conclusion to record. */
type ShippedVariant = Conclusion & {
  readonly variant_key: string
  /** To all persons, whatever the flag's conditions. */
  readonly to_everyone: boolean
}

/** Ships one variant, and ends the experiment if it runs. Refuses drafts, and unknown variants. */
export function shipExperiment(
  editor: TargetingEditor,
  experiment: Experiment,
  { variant_key, to_everyone, ...conclusions }: ShippedVariant,
  now: Date,
): Experiment {
  requireNoFault(experiment.start_date === null ? NOT_LAUNCHED : null)
  const flag = getFlag(editor.control, editor.project.id, experiment.feature_flag_id)
  return editor.control.transaction(() => {
    shipVariant(editor, flag, { variant_key, to_everyone }, now)
    const ended = experiment.end_date === null ? { end_date: now } : {}
    return updateExperiment(editor, experiment, { ...conclusions, ...ended }, now)
  })
}

/** Derives the state of an experiment. */
export function statusOfExperiment({ experiment, flag }: ExperimentState): ExperimentStatus {
  if (experiment.start_date === null) return 'draft'
  if (experiment.end_date !== null) return 'stopped'
  return flag.active ? 'running' : 'paused'
}

const NOT_LAUNCHED = 'Experiment has not been launched yet.'

function faultOfEnding({ start_date, end_date }: Experiment): string | null {
  if (start_date === null) return NOT_LAUNCHED
  return end_date === null ? null : 'Experiment has already ended.'
}

function faultOfRunning({ experiment, flag }: ExperimentState, fault: string, active: boolean) {
  return faultOfEnding(experiment) ?? (flag.active === active ? null : fault)
}

function requireNoFault(fault: string | null): void {
  if (fault !== null) throw new Refusal('invalid_input', fault)
}
