/** Evaluates all flags of a project for one person: dependencies first; a failing flag never stops the others. */
import { Buckets, holdoutBucket, rolloutBucket, variantBucket } from './bucket.ts'
import { decodeResults, outcomeCodes, TableEvaluation } from './decision-cache/decision.ts'
import type { DecisionTable, DecisionTables } from './decision-cache/decision-table.ts'
import {
  type CompiledFlag,
  type CompiledFlags,
  dependenciesOf,
  FLAGS_EVALUATED_MAX,
  isOneRuntime,
} from './definition.ts'
import type { StoredFlag } from './definition-types.ts'
import { FlagFailure } from './failure.ts'
import type { CompiledFilter } from './filter.ts'
import { matchesFilter } from './match.ts'
import { identifierOf, ownProperty } from './operators/value.ts'
import type { ConditionSet, FlagPlan, SuperSet, VariantSlice } from './plan.ts'
import {
  type Evaluation,
  type FlagBug,
  type FlagResult,
  failedResult,
  isActive,
  NON_MATCH_RANKS,
} from './result.ts'
import { type FlagPerson, openSubject, type Subject, type UnknownToEdge } from './subject.ts'
import { Work } from './work.ts'

/** A caller's selection of flags; null selects all. */
export type Selection = {
  /** Only these. Their dependencies are evaluated too, but not listed. */
  readonly flag_keys: readonly string[] | null
  /** `client`, `server`, or `unknown` for flags that are for all runtimes; anything else for every flag. */
  readonly evaluation_runtime: string | null
  readonly evaluation_contexts: ReadonlySet<string> | null
}

/** The runtime of a caller whose request and headers name none. */
export const UNKNOWN_RUNTIME = 'unknown'

/** The selection of a caller that names none, as most do: all flags. */
export const EVERYTHING: Selection = {
  flag_keys: null,
  evaluation_runtime: null,
  evaluation_contexts: null,
}

/**
 * Evaluates a project's flags for one person: by the decision cache if all flags are selected, else flag by flag. A
 * failing flag becomes a failed result; it never throws.
 */
export function evaluateFlags(
  definitions: CompiledFlags,
  person: FlagPerson,
  selection: Selection = EVERYTHING,
): Evaluation {
  const { decision_tables: tables, first_keys } = definitions
  if (first_keys !== null) return evaluateFirst(definitions, first_keys, person, selection)
  // Tables cannot tell an unknown property of an edge from a missing one.
  if (tables === null || person.unknown?.person || !isForEverything(selection)) {
    return evaluateEach(definitions, person, selection)
  }
  const distinct_id = identifierOf(person.distinct_id)
  const table = findTable(tables, person, distinct_id)
  if (table === null) return evaluateEach(definitions, person, EVERYTHING)
  if (definitions.uncovered.length > 0) {
    return completeTable(table, definitions, person, distinct_id)
  }
  // The outcome depends on the table and the identifier alone, so it can be cached.
  const { result_cache } = definitions
  const cached = result_cache?.find(distinct_id, table) ?? null
  if (cached !== null) return new TableEvaluation(table, cached)
  BUCKETS.setIdentifier(distinct_id)
  const codes = outcomeCodes(table, BUCKETS)
  result_cache?.keep(distinct_id, table, codes)
  return new TableEvaluation(table, codes)
}

/**
 * Evaluates the selected flags of a project with too many, or its first flags. Flags that are left out count as errors,
 * so that clients keep their old values.
 */
function evaluateFirst(
  definitions: CompiledFlags,
  first_keys: readonly string[],
  person: FlagPerson,
  selection: Selection,
): Evaluation {
  const { flag_keys } = selection
  const evaluated = flag_keys?.slice(0, FLAGS_EVALUATED_MAX) ?? first_keys
  const is_cut = flag_keys === null || flag_keys.length > FLAGS_EVALUATED_MAX
  const evaluation = evaluateEach(definitions, person, { ...selection, flag_keys: evaluated })
  return { ...evaluation, has_errors: evaluation.has_errors || is_cut }
}

/** Scratch memory: `setIdentifier` comes before every use. */
const BUCKETS = new Buckets()

/** The person's table; null also if a filter throws: only `evaluateEach` can attribute that to its flags. */
function findTable(
  tables: DecisionTables,
  person: FlagPerson,
  distinct_id: string,
): DecisionTable | null {
  try {
    return tables.find(person.person_properties, distinct_id, person.now, new Work())
  } catch {
    return null
  }
}

/** The plain way: flag by flag, filter by filter. */
function evaluateEach(
  definitions: CompiledFlags,
  person: FlagPerson,
  selection: Selection,
): Evaluation {
  const subject = openSubject(person, definitions)
  const allowed = selectPositions(definitions, selection.flag_keys)
  const bugs: FlagBug[] = []
  for (const compiled of definitions.order) {
    const { index, flag } = compiled
    if (allowed?.has(index) === false || !isOffered(flag, selection)) continue
    subject.results[index] = evaluateOne(compiled, subject, bugs)
  }
  const named_keys = selection.flag_keys && new Set(selection.flag_keys)
  const results: FlagResult[] = []
  for (const result of subject.results) {
    if (!isOffered(result.flag, selection) || named_keys?.has(result.flag.key) === false) continue
    results.push(result)
    if (result.is_failed) subject.has_errors = true
  }
  return { results, has_errors: subject.has_errors, bugs, writeTexts: null }
}

/** The table's results for the person's buckets, completed by the flags outside of the table. */
function completeTable(
  table: DecisionTable,
  definitions: CompiledFlags,
  person: FlagPerson,
  distinct_id: string,
): Evaluation {
  BUCKETS.setIdentifier(distinct_id)
  const results = decodeResults(table, outcomeCodes(table, BUCKETS))
  const bugs: FlagBug[] = []
  const subject = { ...openSubject(person, definitions), results }
  for (const compiled of definitions.uncovered) {
    const result = evaluateOne(compiled, subject, bugs)
    results[compiled.index] = result
    if (result.is_failed) subject.has_errors = true
  }
  const is_all = definitions.active_count === results.length
  const active = is_all ? results : results.filter(isActive)
  return { results: active, has_errors: subject.has_errors, bugs, writeTexts: null }
}

/** True when the caller selects no flags, as most do: it gets all. */
function isForEverything({
  flag_keys,
  evaluation_runtime,
  evaluation_contexts,
}: Selection): boolean {
  return flag_keys === null && !isPartial(evaluation_runtime) && !evaluation_contexts?.size
}

/** Whether a caller gets a flag. If not, it is not listed, and off for flags that depend on it. */
function isOffered(flag: StoredFlag, selection: Selection): boolean {
  if (!flag.active) return false
  if (selection === EVERYTHING) return true
  const { evaluation_runtime, evaluation_contexts } = selection
  if (!isForRuntime(flag.evaluation_runtime, evaluation_runtime)) return false
  if (!evaluation_contexts?.size || flag.evaluation_contexts.length === 0) return true
  return flag.evaluation_contexts.some((context) => evaluation_contexts.has(context))
}

function isForRuntime(of_flag: string | null, of_caller: string | null): boolean {
  return !isOneRuntime(of_flag) || !isPartial(of_caller) || of_flag === of_caller
}

/** Whether a caller's runtime leaves flags out. */
function isPartial(runtime: string | null): boolean {
  return isOneRuntime(runtime) || runtime === UNKNOWN_RUNTIME
}

/** Positions of the named flags and all their dependencies; null for all flags. */
function selectPositions(
  definitions: CompiledFlags,
  flag_keys: readonly string[] | null,
): ReadonlySet<number> | null {
  if (!flag_keys) return null
  const allowed = new Set(flag_keys.flatMap((key) => definitions.positions.get(key) ?? []))
  // The set grows while it is walked, which includes dependencies of dependencies.
  for (const position of allowed) {
    const plan = definitions.flags[position]?.plan
    for (const dependency of plan ? dependenciesOf(plan) : []) allowed.add(dependency)
  }
  return allowed
}

function evaluateOne({ flag, plan }: CompiledFlag, subject: Subject, bugs: FlagBug[]): FlagResult {
  if (plan.kind === 'failed') return plan.result
  try {
    return followPlan(flag, plan, subject)
  } catch (error) {
    if (error instanceof FlagFailure) return failedResult(flag, error.code)
    bugs.push({ flag_key: flag.key, cause: error })
    return failedResult(flag, 'evaluation_failed')
  }
}

function followPlan(flag: StoredFlag, plan: FlagPlan, subject: Subject): FlagResult {
  if (plan.needs_store && subject.person.is_store_unavailable) {
    throw new FlagFailure('store_unavailable')
  }
  if (subject.person.unknown !== undefined)
    requireKnown(flag, plan, subject, subject.person.unknown)
  const identifier = identifierFor(plan.aggregation, flag, plan, subject)
  if (identifier === null && plan.is_uniform) return plan.no_identifier
  if (plan.super_set) {
    const result = evaluateSuperSet(plan.super_set, flag, identifier, subject)
    if (result) return result
  }
  const { holdout } = plan
  if (holdout && identifier !== null && holdoutBucket(identifier) <= holdout.threshold) {
    return holdout.result
  }
  return searchSets(flag, plan, subject)
}

/** Throws if an edge cannot know by which identifier, or by which choice of early access, the flag decides. */
function requireKnown(
  flag: StoredFlag,
  plan: FlagPlan,
  { device_id, person: { person_properties } }: Subject,
  unknown: UnknownToEdge,
): void {
  const keys = plan.super_set?.keys ?? []
  const has_choice = keys.some((key) => ownProperty(person_properties, key) !== undefined)
  const is_unknown =
    (flag.ensure_experience_continuity && unknown.overrides) ||
    (unknown.person && plan.is_by_device && device_id === null) ||
    (unknown.person && keys.length > 0 && !has_choice)
  if (is_unknown) throw new FlagFailure('store_unavailable')
}

/** The identifier to hash; null if the person has none of this kind. */
function identifierFor(
  aggregation: number | null,
  flag: StoredFlag,
  plan: FlagPlan,
  subject: Subject,
): string | null {
  if (aggregation !== null) return subject.groups[aggregation]?.key ?? null
  if (plan.is_by_device) return subject.device_id
  if (!flag.ensure_experience_continuity) return subject.distinct_id
  return subject.person.overrides.get(flag.key) ?? subject.distinct_id
}

/** The result of early access; null if the person has none of its properties. */
function evaluateSuperSet(
  set: SuperSet,
  flag: StoredFlag,
  identifier: string | null,
  subject: Subject,
): FlagResult | null {
  const { person_properties } = subject.person
  const is_named = (key: string): boolean => ownProperty(person_properties, key) !== undefined
  if (set.keys.length > 0 && !set.keys.some(is_named)) return null
  if (!allMatch(set.filters, subject)) return set.no_match
  if (set.threshold === null) return set.match
  const is_in = identifier !== null && rolloutBucket(flag.key, identifier) <= set.threshold
  return is_in ? set.match : set.no_match
}

/**
 * Evaluates the condition sets in stored order. The first match decides; without one, the strongest reason is reported.
 */
function searchSets(flag: StoredFlag, plan: FlagPlan, subject: Subject): FlagResult {
  let strongest = plan.no_match
  for (const set of plan.sets) {
    const result = evaluateSet(set, flag, plan, subject)
    if (result.enabled) return result
    if (plan.is_early_exit && result === set.out_of_rollout) return result
    if (rankOf(result) >= rankOf(strongest)) strongest = result
  }
  return strongest
}

function evaluateSet(
  set: ConditionSet,
  flag: StoredFlag,
  plan: FlagPlan,
  subject: Subject,
): FlagResult {
  subject.work.charge(1)
  const identifier = identifierFor(set.aggregation, flag, plan, subject)
  if (identifier === null) return set.no_group
  if (!allMatch(set.filters, subject)) return set.no_match
  return isInRollout(set, flag, identifier)
    ? pickVariant(set, flag, identifier)
    : set.out_of_rollout
}

function rankOf(result: FlagResult): number {
  return NON_MATCH_RANKS.indexOf(result.reason.code)
}

function isInRollout(set: ConditionSet, flag: StoredFlag, identifier: string): boolean {
  const { threshold } = set
  // No bucket is above 1, so a full rollout needs no hash.
  if (threshold === null || threshold >= 1) return true
  return rolloutBucket(flag.key, identifier) <= threshold
}

/** The variant by hash. A bucket beyond the last slice gets no variant: the flag is on without one. */
function pickVariant(set: ConditionSet, flag: StoredFlag, identifier: string): FlagResult {
  if (set.variants.length === 0) return set.match
  return pickSlice(set.variants, set.match, variantBucket(flag.key, identifier))
}

function pickSlice(
  variants: readonly VariantSlice[],
  beyond: FlagResult,
  bucket: number,
): FlagResult {
  for (const slice of variants) if (bucket < slice.until) return slice.result
  return beyond
}

function allMatch(filters: readonly CompiledFilter[], subject: Subject): boolean {
  for (const filter of filters) if (!matchesFilter(filter, subject)) return false
  return true
}
