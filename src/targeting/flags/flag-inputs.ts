/** What a project's flags look at, so that a request which brings it all along need not wait for the store. */
import type { CohortNode } from '../../flags/cohort.ts'
import type { CompiledFlags } from '../../flags/definition.ts'
import type { CompiledFilter } from '../../flags/filter.ts'

export type FlagInputs = {
  /** The person properties that filters of active flags ask about, each once. */
  readonly person_keys: readonly string[]
  /** Whether where the person is matters. */
  readonly needs_location: boolean
  /** The person itself is needed, whatever the request says of it: lists of people, experience continuity. */
  readonly needs_person: boolean
  /** Group type indexes whose stored properties are asked about. */
  readonly group_indexes: readonly number[]
  /** Whether answers depend on which persons have seen what before. */
  readonly has_continuity: boolean
}

/** Works out what the active flags of a project read; done once per change of the definitions. */
export function readsOf(definitions: CompiledFlags): FlagInputs {
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
  // Everybody has one, also whoever is not stored.
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
