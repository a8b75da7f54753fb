/** The stored data that a project's flags read, so that a request with all of it skips the store. */
import type { CohortNode } from '../../flags/cohort.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import type { CompiledFilter } from '../../flags/filter.ts'

export type FlagInputs = {
  /** Person properties in filters of active flags, each once. */
  readonly person_keys: readonly string[]
  /** Whether a filter reads the location. */
  readonly needs_location: boolean
  /**
   * Whether the stored person is needed even if the request has all properties: static cohorts, experience
   * continuity.
   */
  readonly needs_person: boolean
  /** Group type indexes whose stored properties are read. */
  readonly group_indexes: readonly number[]
  /** Whether results depend on stored hash key overrides. */
  readonly has_continuity: boolean
}

/** Collects the inputs of a project's active flags; runs once per change of the definitions. */
export function inputsOf(definitions: CompiledFlags): FlagInputs {
  const filters: CompiledFilter[] = []
  const person_keys = new Set<string>()
  let needs_person = false
  let has_continuity = false
  for (const { flag, plan } of definitions.flags) {
    if (!flag.active || plan.kind === 'failed') continue
    has_continuity ||= flag.ensure_experience_continuity
    if (plan.is_by_device) person_keys.add('$device_id')
    for (const key of plan.super_set?.keys ?? []) person_keys.add(key)
    filters.push(...(plan.super_set?.filters ?? []))
    for (const set of plan.sets) filters.push(...set.filters)
  }
  for (const cohort of definitions.cohorts.values()) {
    if (cohort.kind === 'members') needs_person = true
    if (cohort.kind === 'tree') filters.push(...filtersIn(cohort.root))
  }
  const group_indexes = new Set<number>()
  for (const filter of filters) {
    if (filter.kind !== 'property') continue
    if (filter.source === 'person') person_keys.add(filter.key)
    else group_indexes.add(filter.source)
  }
  // Every person has a distinct id, stored or not.
  person_keys.delete('distinct_id')
  return {
    person_keys: [...person_keys],
    needs_location: [...person_keys].some((key) => key.startsWith('$geoip_')),
    needs_person: needs_person || has_continuity,
    group_indexes: [...group_indexes],
    has_continuity,
  }
}

function filtersIn(node: CohortNode): readonly CompiledFilter[] {
  return node.kind === 'leaf' ? [node.filter] : node.nodes.flatMap(filtersIn)
}
