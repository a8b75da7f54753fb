/** Experience continuity: a person keeps, after logging in, the variant of the anonymous id. */
import type { CompiledFlags } from './definition.ts'

/** The stored overrides of a person: flag key → the identifier hashed instead of the distinct id. */
type PersonOverrides = {
  readonly person_id: string
  readonly overrides: ReadonlyMap<string, string>
}

/** A row to store unless the person has one for that flag: the first writer wins. */
type NewOverride = {
  readonly person_id: string
  readonly flag_key: string
  readonly hash_key: string
}

type Continuity = {
  /** For `FlagPerson.overrides`: stored and new ones. */
  readonly overrides: ReadonlyMap<string, string>
  readonly to_store: readonly NewOverride[]
}

/**
 * Resolves the overrides of one request. `people` are the persons of the distinct id and of the anonymous id, in this
 * order and each once; ids without a person are left out, and without any person nothing is stored.
 * `anon_distinct_id` is null if the request has none: then stored overrides are only read.
 */
export function resolveContinuity(
  definitions: CompiledFlags,
  people: readonly PersonOverrides[],
  anon_distinct_id: string | null,
): Continuity {
  const overrides = new Map<string, string>()
  for (const person of people) {
    for (const [flag_key, hash_key] of person.overrides) {
      if (!overrides.has(flag_key)) overrides.set(flag_key, hash_key)
    }
  }
  if (anon_distinct_id === null || people.length === 0) return { overrides, to_store: [] }
  const to_store: NewOverride[] = []
  for (const { flag } of definitions.flags) {
    const is_open = flag.active && flag.ensure_experience_continuity && !overrides.has(flag.key)
    if (!is_open) continue
    overrides.set(flag.key, anon_distinct_id)
    for (const { person_id } of people) {
      to_store.push({ person_id, flag_key: flag.key, hash_key: anon_distinct_id })
    }
  }
  return { overrides, to_store }
}
