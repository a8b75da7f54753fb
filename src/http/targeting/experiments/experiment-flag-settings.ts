/** Reads the settings of an experiment's flag from `feature_flag`, where newer clients send them instead of `parameters`. */
import { Refusal } from '../../../errors.ts'
import { isObject } from '../../../json.ts'

/** SETTINGS by their path in `feature_flag.filters`: the member of `parameters` that is the same. A line adds one. */
const SETTINGS: Readonly<Record<string, (filters: Readonly<Record<string, unknown>>) => object>> = {
  multivariate: ({ multivariate }) =>
    isObject(multivariate) ? { feature_flag_variants: multivariate['variants'] } : {},
  groups: ({ groups }) => rolloutOf(groups),
  aggregation_group_type_index: ({ aggregation_group_type_index }) => ({
    aggregation_group_type_index,
  }),
  payloads: ({ payloads }) => ({ feature_flag_payloads: payloads ?? {} }),
}

/**
 * Returns the settings as members of `parameters`; undefined without any. A flag with an id was answered before and is only
 * sent back: it sets nothing. Refuses settings that would be lost.
 */
export function flagParameters(sent: unknown): object | undefined {
  if (!isObject(sent) || (sent['id'] ?? null) !== null) return undefined
  const { filters, ...others } = sent
  requireNone(Object.keys(others).filter((name) => (others[name] ?? null) !== null))
  if (!isObject(filters)) return undefined
  const names = Object.keys(filters)
  requireNone(names.filter((name) => !Object.hasOwn(SETTINGS, name) && filters[name] !== null))
  return Object.assign({}, ...names.map((name) => SETTINGS[name]?.(filters) ?? {}))
}

/** The share of persons in the only condition set. Refuses conditions, which the flag has by its own route. */
function rolloutOf(groups: unknown): object {
  if (!Array.isArray(groups) || groups.length === 0) return {}
  const [group, ...others] = groups as readonly unknown[]
  const properties = isObject(group) ? (group['properties'] ?? []) : null
  if (others.length > 0 || !Array.isArray(properties) || properties.length > 0) {
    throw refused('Release conditions are not set here: edit the feature flag.')
  }
  return { rollout_percentage: isObject(group) ? (group['rollout_percentage'] ?? 100) : 100 }
}

function requireNone([unknown]: readonly string[]): void {
  if (unknown === undefined) return
  throw refused(`${JSON.stringify(unknown.slice(0, 100))} is not set here: edit the feature flag.`)
}

const refused = (detail: string): Refusal =>
  new Refusal('invalid_input', detail, { attr: 'feature_flag' })
