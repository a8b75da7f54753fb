/** The editable form of an experiment: read from the stored one or from an address, and written back as the members that changed. */
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { isEqual } from '../../parts/is-equal.ts'
import { type DraftVariant, FIRST_VARIANTS } from '../flags/flag-draft.ts'
import { membersOf } from './metric.ts'

export type StatsMethod = 'bayesian' | 'frequentist'

export type DraftedExperiment = {
  readonly name: string
  /** The hypothesis. */
  readonly description: string
  /** Of a new experiment: makes its flag, or uses one that exists. */
  readonly is_new_flag: boolean
  /** Of a new experiment. */
  readonly flag_key: string
  /** Of a new flag. */
  readonly variants: readonly DraftVariant[]
  readonly method: StatsMethod
  /** As stored; the page edits single members. */
  readonly metrics: readonly unknown[]
  readonly secondary: readonly unknown[]
  /** Links to metrics that several experiments have, as stored. */
  readonly shared: readonly unknown[]
  /** '' for none. */
  readonly conclusion: string
  readonly comment: string
}

export const NEW_EXPERIMENT: DraftedExperiment = {
  name: '',
  description: '',
  is_new_flag: true,
  flag_key: '',
  variants: FIRST_VARIANTS,
  method: 'bayesian',
  metrics: [],
  secondary: [],
  shared: [],
  conclusion: '',
  comment: '',
}

/** The draft of a stored experiment. */
export function draftOf(experiment: ShownExperiment): DraftedExperiment {
  const { name, description, metrics, metrics_secondary, saved_metrics_ids } = experiment
  return {
    ...NEW_EXPERIMENT,
    name,
    description: description ?? '',
    method:
      membersOf(experiment.stats_config)['method'] === 'frequentist' ? 'frequentist' : 'bayesian',
    metrics: metrics.map(withoutFingerprint),
    secondary: metrics_secondary.map(withoutFingerprint),
    shared: saved_metrics_ids,
    conclusion: experiment.conclusion ?? '',
    comment: experiment.conclusion_comment ?? '',
  }
}

/** The answer adds a hash to each metric, which is not stored. */
function withoutFingerprint(metric: unknown): unknown {
  if (typeof metric !== 'object' || metric === null || Array.isArray(metric)) return metric
  const { fingerprint: _hash, ...stored } = membersOf(metric)
  return stored
}

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedExperiment | null {
  const draft = membersOf(value)
  const { name, metrics, secondary, shared, variants } = draft
  if (typeof name !== 'string' || !Array.isArray(metrics)) return null
  return {
    name,
    description: textIn(draft, 'description'),
    is_new_flag: draft['is_new_flag'] !== false,
    flag_key: textIn(draft, 'flag_key'),
    variants: Array.isArray(variants) ? variants.map(readVariant) : FIRST_VARIANTS,
    method: draft['method'] === 'frequentist' ? 'frequentist' : 'bayesian',
    metrics,
    secondary: Array.isArray(secondary) ? secondary : [],
    shared: Array.isArray(shared) ? shared : [],
    conclusion: textIn(draft, 'conclusion'),
    comment: textIn(draft, 'comment'),
  }
}

function readVariant(value: unknown): DraftVariant {
  const variant = membersOf(value)
  return {
    key: textIn(variant, 'key'),
    share: textIn(variant, 'share'),
    payload: textIn(variant, 'payload'),
    others: {},
  }
}

const textIn = (members: Readonly<Record<string, unknown>>, name: string): string => {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}

/** The key of a new flag: what was typed, or the experiment's name in the letters of keys, `Új gomb` → `uj-gomb`. */
export function flagKeyOf({ flag_key, name }: DraftedExperiment): string {
  if (flag_key.trim() !== '') return flag_key.trim()
  // Decomposed: an accent is a character of its own, which goes, and its letter stays.
  const letters = name.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  const words = letters.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return words.join('-').slice(0, FLAG_KEY_MAX)
}

const FLAG_KEY_MAX = 100

/** The body that makes a new experiment. */
export function newBodyOf(draft: DraftedExperiment): object {
  const { name, description, is_new_flag, variants, method, metrics, secondary } = draft
  return {
    name: name.trim(),
    description,
    feature_flag_key: is_new_flag ? flagKeyOf(draft) : draft.flag_key,
    // Settings of a flag that exists are refused: nothing of it is lost by a key that was typed twice.
    ...(is_new_flag && {
      feature_flag: {
        filters: {
          multivariate: {
            variants: variants.map(({ key, share }) => ({
              key,
              rollout_percentage: Number(share),
            })),
          },
          payloads: payloadsOf(variants),
        },
      },
    }),
    metrics,
    metrics_secondary: secondary,
    ...(method !== NEW_EXPERIMENT.method && { stats_config: { method } }),
  }
}

const payloadsOf = (variants: readonly DraftVariant[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    variants.flatMap(({ key, payload }) => (payload.trim() === '' ? [] : [[key, payload]])),
  )

/** The body that stores the changes of a draft; what it does not change is not in it. */
export function changesOf(draft: DraftedExperiment, stored: ShownExperiment): object {
  const before = draftOf(stored)
  const { name, description, method, metrics, secondary, shared, conclusion, comment } = draft
  const is = (member: keyof DraftedExperiment): boolean => !isEqual(draft[member], before[member])
  return {
    ...(is('name') && { name: name.trim() }),
    ...(is('description') && { description }),
    ...(is('method') && { stats_config: { ...membersOf(stored.stats_config), method } }),
    ...(is('metrics') && { metrics }),
    ...(is('secondary') && { metrics_secondary: secondary }),
    ...(is('shared') && { saved_metrics_ids: shared }),
    ...(is('conclusion') && { conclusion: conclusion === '' ? null : conclusion }),
    ...(is('comment') && { conclusion_comment: comment === '' ? null : comment }),
  }
}
