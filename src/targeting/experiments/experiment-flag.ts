/** The flag of an experiment: its variants, its conditions, its holdout, and the shipped variant. */

import { and, eq, isNotNull, isNull, ne } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { findSets } from '../../flags/plan.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { type Flag, updateFlag } from '../flags/flag.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { experiments } from '../tables.ts'
import { getHoldout } from './holdout.ts'

type FlaggedExperiment = typeof experiments.$inferSelect

const CONTROL = 'control'
const EVEN_VARIANTS = [
  { key: CONTROL, rollout_percentage: 50 },
  { key: 'test', rollout_percentage: 50 },
]
const VARIANTS_MIN = 2
const VARIANTS_MAX = 20

/** The members of an experiment that change its flag; undefined ones stay. */
type ExperimentFlagRequest = {
  readonly parameters?: unknown
  readonly holdout_id?: number | null | undefined
  /** Whether the flag is active. */
  readonly is_on: boolean
}

/** Builds the filters of a flag that is created for an experiment. */
export function buildFlagFilters(
  editor: TargetingEditor,
  { parameters, holdout_id }: ExperimentFlagRequest,
): object {
  const settings = isObject(parameters) ? parameters : {}
  const rollout_percentage = settings['rollout_percentage'] ?? 100
  const payloads = settings['feature_flag_payloads']
  return {
    groups: [{ properties: [], rollout_percentage }],
    multivariate: { variants: variantsIn(parameters) ?? EVEN_VARIANTS },
    aggregation_group_type_index: settings['aggregation_group_type_index'] ?? null,
    holdout_groups: holdoutGroups(editor, holdout_id ?? null),
    ...(isObject(payloads) ? { payloads } : {}),
  }
}

/** Updates a flag to follow its experiment. Refuses when another experiment is running on it. */
export function syncExperimentFlag(
  editor: TargetingEditor,
  { id, flag }: Pick<FlaggedExperiment, 'id'> & { readonly flag: Flag },
  request: ExperimentFlagRequest,
  now: Date,
): void {
  const filters = isObject(flag.filters) ? flag.filters : {}
  const new_filters = followExperiment(editor, filters, request)
  const active = flag.active || request.is_on
  const ensure_experience_continuity =
    findContinuity(request.parameters) ?? flag.ensure_experience_continuity
  const is_changed =
    !Bun.deepEquals(filters, new_filters) ||
    ensure_experience_continuity !== flag.ensure_experience_continuity
  if (!is_changed && active === flag.active) return
  if (is_changed && isRunningElsewhere(editor.control, flag, id)) {
    const detail = 'Another experiment is running on this feature flag: its variants have to stay.'
    throw refused(detail, 'parameters')
  }
  const changes = { filters: new_filters, active, ensure_experience_continuity }
  explainFlagRefusal(() => updateFlag(editor, flag, changes, now))
}

/** Whether persons keep their variant when they log in, if parameters say so; null if not. */
export function findContinuity(parameters: unknown): boolean | null {
  const value = isObject(parameters) ? parameters['ensure_experience_continuity'] : null
  return typeof value === 'boolean' ? value : null
}

/** Sets or removes a holdout's condition in a flag. */
export function setHoldout(
  editor: TargetingEditor,
  flag: Flag,
  holdout_id: number | null,
  now: Date,
): void {
  if (hasHoldout(editor, flag, holdout_id)) return
  const filters = isObject(flag.filters) ? flag.filters : {}
  const holdout_groups = holdoutGroups(editor, holdout_id)
  updateFlag(editor, flag, { filters: { ...filters, holdout_groups } }, now)
}

/** Refuses (`holdout_id`) a new experiment that would change the holdout of a flag on which another is running. */
export function requireHoldout(
  editor: TargetingEditor,
  flag: Flag,
  holdout_id: number | null,
): void {
  if (hasHoldout(editor, flag, holdout_id)) return
  if (!isRunningElsewhere(editor.control, flag, NO_EXPERIMENT)) return
  const detail = 'Another experiment is running on this feature flag: its holdout has to stay.'
  throw refused(detail, 'holdout_id')
}

/** The id of an experiment that is not stored yet. */
const NO_EXPERIMENT = 0

function hasHoldout(
  editor: TargetingEditor,
  { filters }: Flag,
  holdout_id: number | null,
): boolean {
  const stored = isObject(filters) ? (filters['holdout_groups'] ?? null) : null
  return Bun.deepEquals(stored, holdoutGroups(editor, holdout_id))
}

/**
 * Gives one variant to all persons that the flag's conditions include, holdout included; with `to_everyone` to
 * all persons, by a condition set before all others, so that deleting that set undoes it. Refuses unknown
 * variants.
 */
export function shipVariant(
  editor: TargetingEditor,
  flag: Flag,
  { variant_key, to_everyone }: { readonly variant_key: string; readonly to_everyone: boolean },
  now: Date,
): void {
  if (!variantKeys(flag).includes(variant_key)) {
    const detail = `Variant ${JSON.stringify(variant_key)} is not one of the feature flag.`
    throw refused(detail, 'variant_key')
  }
  const filters = isObject(flag.filters) ? flag.filters : {}
  const variants = (variantsOf(flag) ?? []).map((one) => {
    const variant = isObject(one) ? one : {}
    return { ...variant, rollout_percentage: variant['key'] === variant_key ? 100 : 0 }
  })
  const groups = findSets(filters)
  const everyone = { properties: [], rollout_percentage: 100, description: SHIPPED_DESCRIPTION }
  const new_filters = {
    ...filters,
    groups: to_everyone ? [everyone, ...groups] : groups,
    multivariate: { variants },
    holdout_groups: null,
  }
  updateFlag(editor, flag, { filters: new_filters }, now)
}

const SHIPPED_DESCRIPTION =
  'Made when the experiment ended: everybody is shown the variant that was shipped.'

/** Refuses flags that an experiment cannot compare with: fewer than two variants, or no control. */
export function requireExperimentVariants(flag: Flag): void {
  const keys = variantKeys(flag)
  const attr = 'feature_flag_key'
  if (keys.length < VARIANTS_MIN) {
    const detail =
      'Feature flag must have at least 2 variants (control and at least one test variant).'
    throw refused(detail, attr)
  }
  if (keys.includes(CONTROL)) return
  throw refused('Feature flag must have a variant with key "control".', attr)
}

/** Refuses baselines and exclusions that leave nothing to compare. */
export function requireComparable(
  { stats_config, parameters }: Pick<FlaggedExperiment, 'parameters' | 'stats_config'>,
  flag: Flag,
): void {
  const keys = variantKeys(flag)
  const baseline_key = isObject(stats_config) ? stats_config['baseline_variant_key'] : null
  if (typeof baseline_key === 'string' && !keys.includes(baseline_key)) {
    const detail = `${JSON.stringify(baseline_key)} is no variant of the feature flag.`
    throw refused(detail, 'stats_config__baseline_variant_key')
  }
  const excluded: unknown = isObject(parameters) ? parameters['excluded_variants'] : null
  if (excluded === undefined || excluded === null) return
  const attr = 'parameters__excluded_variants'
  if (!Array.isArray(excluded) || excluded.some((key: unknown) => !isOneOf(keys, key))) {
    throw refused("Must be a list of keys of the feature flag's variants.", attr)
  }
  const baseline = typeof baseline_key === 'string' ? baseline_key : CONTROL
  const left = keys.filter((key) => !excluded.includes(key))
  if (!left.includes(baseline)) throw refused('The baseline cannot be left out.', attr)
  if (left.length < VARIANTS_MIN) throw refused('At least one variant has to be left.', attr)
}

function isOneOf(keys: readonly string[], key: unknown): boolean {
  return keys.some((one) => one === key)
}

/** Runs an edit of a flag and rephrases its refusals for the experiment's fields. */
export function explainFlagRefusal<Done>(run: () => Done): Done {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { attr } = error
    if (attr === 'key') throw new Refusal(error.code, error.detail, { attr: 'feature_flag_key' })
    if (attr?.startsWith('filters') !== true) throw error
    throw new Refusal(error.code, error.detail, { attr: 'parameters' })
  }
}

/** A started experiment's variants may change their shares, not their keys. Refuses (`parameters`) others. */
export function requireSameKeys(flag: Flag, parameters: unknown): void {
  const variants = variantsIn(parameters)
  if (variants === null) return
  const keys = variants.flatMap(keyOf).toSorted()
  if (Bun.deepEquals(keys, [...variantKeys(flag)].toSorted())) return
  throw refused("Can't update feature_flag_variants on Experiment", 'parameters')
}

/** Returns the keys of a flag's variants, in order. */
export function variantKeys(flag: Flag): readonly string[] {
  return (variantsOf(flag) ?? []).flatMap(keyOf)
}

/** Returns the variants that results compare: all but the excluded ones, control first. */
export function comparedKeys({ parameters }: FlaggedExperiment, flag: Flag): readonly string[] {
  const excluded = isObject(parameters) ? parameters['excluded_variants'] : null
  const keys = variantKeys(flag).filter(
    (key) => !Array.isArray(excluded) || !excluded.includes(key),
  )
  return keys.includes(CONTROL) ? [CONTROL, ...keys.filter((key) => key !== CONTROL)] : keys
}

/** Returns a flag's variants; null without any. */
export function variantsOf({ filters }: Flag): readonly Json[] | null {
  const multivariate = isObject(filters) ? filters['multivariate'] : null
  const variants = isObject(multivariate) ? multivariate['variants'] : null
  return Array.isArray(variants) ? (variants as Json[]) : null
}

/** Returns the variants in parameters; null without any. Refuses variants that cannot be compared. */
function variantsIn(parameters: unknown): readonly unknown[] | null {
  const variants: unknown = isObject(parameters) ? parameters['feature_flag_variants'] : null
  if (!Array.isArray(variants) || variants.length === 0) return null
  const keys = variants.flatMap(keyOf)
  if (keys.length < variants.length) {
    throw refused("Each feature flag variant must be an object with a 'key'.", 'parameters')
  }
  if (variants.length < VARIANTS_MIN || variants.length > VARIANTS_MAX) {
    const detail = `An experiment has ${VARIANTS_MIN} to ${VARIANTS_MAX} variants.`
    throw refused(detail, 'parameters')
  }
  if (keys.includes(CONTROL)) return variants
  throw refused("Feature flag variants must contain a variant with key 'control'.", 'parameters')
}

function keyOf(variant: unknown): readonly string[] {
  return isObject(variant) && typeof variant['key'] === 'string' ? [variant['key']] : []
}

/** Returns filters that follow an edit of the experiment. */
function followExperiment(
  editor: TargetingEditor,
  filters: Readonly<Record<string, unknown>>,
  { parameters, holdout_id }: ExperimentFlagRequest,
): Readonly<Record<string, unknown>> {
  const settings = isObject(parameters) ? parameters : {}
  const variants = variantsIn(parameters)
  const share = settings['rollout_percentage'] ?? null
  const payloads = settings['feature_flag_payloads']
  const [first, ...others] = findSets(filters)
  return {
    ...filters,
    ...(variants === null ? {} : { multivariate: { variants } }),
    ...(isObject(payloads) ? { payloads } : {}),
    ...(share !== null && isObject(first)
      ? { groups: [{ ...first, rollout_percentage: share }, ...others] }
      : {}),
    ...(Object.hasOwn(settings, 'aggregation_group_type_index')
      ? { aggregation_group_type_index: settings['aggregation_group_type_index'] }
      : {}),
    ...(holdout_id === undefined ? {} : { holdout_groups: holdoutGroups(editor, holdout_id) }),
  }
}

function holdoutGroups({ control, project }: TargetingEditor, holdout_id: number | null): unknown {
  return holdout_id === null ? null : getHoldout(control, project.id, holdout_id).filters
}

function isRunningElsewhere(db: ControlDB, flag: Flag, id: number): boolean {
  const its = and(
    eq(experiments.feature_flag_id, flag.id),
    eq(experiments.deleted, false),
    ne(experiments.id, id),
    isNotNull(experiments.start_date),
    isNull(experiments.end_date),
  )
  return db.select({ id: experiments.id }).from(experiments).where(its).get() !== undefined
}

function refused(detail: string, attr: string): Refusal {
  return new Refusal('invalid_input', detail, { attr })
}
