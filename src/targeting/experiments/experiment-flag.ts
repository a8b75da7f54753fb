/** The flag that an experiment stands on: its variants, whom it shows them, whom it holds out, and what is shipped in the end. */
import { and, eq, isNotNull, isNull, ne } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isRecord } from '../../flags/value.ts'
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

/** What an experiment says that its flag follows; what is not said stays. */
export type ExperimentFlagRequest = {
  readonly parameters?: unknown
  readonly holdout_id?: number | null | undefined
  /** The flag is to be on. */
  readonly is_on: boolean
}

/** The filters of a flag that is made for an experiment. */
export function buildFlagFilters(
  editor: TargetingEditor,
  { parameters, holdout_id }: ExperimentFlagRequest,
): object {
  const said = isRecord(parameters) ? parameters : {}
  const rollout_percentage = said['rollout_percentage'] ?? 100
  const payloads = said['feature_flag_payloads']
  return {
    groups: [{ properties: [], rollout_percentage }],
    multivariate: { variants: variantsIn(parameters) ?? EVEN_VARIANTS },
    aggregation_group_type_index: said['aggregation_group_type_index'] ?? null,
    holdout_groups: holdoutGroups(editor, holdout_id ?? null),
    ...(isRecord(payloads) ? { payloads } : {}),
  }
}

/** Makes a flag follow what an experiment says. Refuses to move one that another experiment is running on. */
export function syncExperimentFlag(
  editor: TargetingEditor,
  { id, flag }: Pick<FlaggedExperiment, 'id'> & { readonly flag: Flag },
  request: ExperimentFlagRequest,
  now: Date,
): void {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const wanted = followed(editor, filters, request)
  const active = flag.active || request.is_on
  const is_moved = !Bun.deepEquals(filters, wanted)
  if (!is_moved && active === flag.active) return
  if (is_moved && isRunningElsewhere(editor.control, flag, id)) {
    const detail = 'Another experiment is running on this feature flag: its variants have to stay.'
    throw refused(detail, 'parameters')
  }
  explainFlagRefusal(() => updateFlag(editor, flag, { filters: wanted, active }, now))
}

/** Puts a holdout's condition into a flag, or takes it out. */
export function setHoldout(
  editor: TargetingEditor,
  flag: Flag,
  holdout_id: number | null,
  now: Date,
): void {
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const holdout_groups = holdoutGroups(editor, holdout_id)
  if (Bun.deepEquals(filters['holdout_groups'] ?? null, holdout_groups)) return
  updateFlag(editor, flag, { filters: { ...filters, holdout_groups } }, now)
}

/**
 * Shows one variant to all whom the flag shows any, also to those who were held out; with `to_everyone` to all people
 * there are, by a set of conditions before all others, so that deleting it undoes that. Refuses variants there are not.
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
  const filters = isRecord(flag.filters) ? flag.filters : {}
  const variants = (variantsOf(flag) ?? []).map((one) => {
    const variant = isRecord(one) ? one : {}
    return { ...variant, rollout_percentage: variant['key'] === variant_key ? 100 : 0 }
  })
  const groups: readonly unknown[] = Array.isArray(filters['groups']) ? filters['groups'] : []
  const everyone = { properties: [], rollout_percentage: 100, description: SHIPPED }
  const wanted = {
    ...filters,
    groups: to_everyone ? [everyone, ...groups] : groups,
    multivariate: { variants },
    holdout_groups: null,
  }
  updateFlag(editor, flag, { filters: wanted }, now)
}

const SHIPPED = 'Made when the experiment ended: everybody is shown the variant that was shipped.'

/** An experiment needs something to compare with. Refuses flags that have nothing. */
export function requireFit(flag: Flag): void {
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

/** What an experiment says that is compared has to be there. Refuses baselines and exclusions that leave nothing to compare. */
export function requireComparable(
  { stats_config, parameters }: Pick<FlaggedExperiment, 'parameters' | 'stats_config'>,
  flag: Flag,
): void {
  const keys = variantKeys(flag)
  const said = isRecord(stats_config) ? stats_config['baseline_variant_key'] : null
  if (typeof said === 'string' && !keys.includes(said)) {
    const detail = `${JSON.stringify(said)} is no variant of the feature flag.`
    throw refused(detail, 'stats_config__baseline_variant_key')
  }
  const excluded: unknown = isRecord(parameters) ? parameters['excluded_variants'] : null
  if (excluded === undefined || excluded === null) return
  const attr = 'parameters__excluded_variants'
  if (!Array.isArray(excluded) || excluded.some((key: unknown) => !isOneOf(keys, key))) {
    throw refused("Must be a list of keys of the feature flag's variants.", attr)
  }
  const baseline = typeof said === 'string' ? said : CONTROL
  const left = keys.filter((key) => !excluded.includes(key))
  if (!left.includes(baseline)) throw refused('The baseline cannot be left out.', attr)
  if (left.length < VARIANTS_MIN) throw refused('At least one variant has to be left.', attr)
}

function isOneOf(keys: readonly string[], key: unknown): boolean {
  return keys.some((one) => one === key)
}

/** Does something with a flag; what is refused of it is told in the words of its experiment. */
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

/** Variants of an experiment that has begun may get other shares, not other keys. Refuses (`parameters`) those. */
export function requireSameKeys(flag: Flag, parameters: unknown): void {
  const wanted = variantsIn(parameters)
  if (wanted === null) return
  const keys = wanted.flatMap(keyOf).toSorted()
  if (Bun.deepEquals(keys, [...variantKeys(flag)].toSorted())) return
  throw refused("Can't update feature_flag_variants on Experiment", 'parameters')
}

/** The keys of a flag's variants, in its order. */
export function variantKeys(flag: Flag): readonly string[] {
  return (variantsOf(flag) ?? []).flatMap(keyOf)
}

/** The variants that results compare: all but those that the experiment leaves out, the control first. */
export function comparedKeys({ parameters }: FlaggedExperiment, flag: Flag): readonly string[] {
  const excluded = isRecord(parameters) ? parameters['excluded_variants'] : null
  const keys = variantKeys(flag).filter(
    (key) => !Array.isArray(excluded) || !excluded.includes(key),
  )
  return keys.includes(CONTROL) ? [CONTROL, ...keys.filter((key) => key !== CONTROL)] : keys
}

/** A flag's variants; null for none. */
export function variantsOf({ filters }: Flag): readonly Json[] | null {
  const multivariate = isRecord(filters) ? filters['multivariate'] : null
  const variants = isRecord(multivariate) ? multivariate['variants'] : null
  return Array.isArray(variants) ? (variants as Json[]) : null
}

/** The variants that parameters name; null for none. Refuses such that cannot be compared. */
function variantsIn(parameters: unknown): readonly unknown[] | null {
  const variants: unknown = isRecord(parameters) ? parameters['feature_flag_variants'] : null
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
  return isRecord(variant) && typeof variant['key'] === 'string' ? [variant['key']] : []
}

/** Filters with what was said in them. */
function followed(
  editor: TargetingEditor,
  filters: Readonly<Record<string, unknown>>,
  { parameters, holdout_id }: ExperimentFlagRequest,
): Readonly<Record<string, unknown>> {
  const said = isRecord(parameters) ? parameters : {}
  const variants = variantsIn(parameters)
  const share = said['rollout_percentage']
  const groups: readonly unknown[] = Array.isArray(filters['groups']) ? filters['groups'] : []
  const [first, ...others] = groups
  return {
    ...filters,
    ...(variants === null ? {} : { multivariate: { variants } }),
    ...(typeof share === 'number' && isRecord(first)
      ? { groups: [{ ...first, rollout_percentage: share }, ...others] }
      : {}),
    ...(Object.hasOwn(said, 'aggregation_group_type_index')
      ? { aggregation_group_type_index: said['aggregation_group_type_index'] }
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
