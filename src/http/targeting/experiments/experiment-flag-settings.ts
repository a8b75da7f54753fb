/** The settings of an experiment's flag: newer clients send them as `feature_flag`, older ones read and send `parameters`. */
import { Refusal } from '../../../errors.ts'
import { findSets } from '../../../flags/plan.ts'
import { isObject } from '../../../json.ts'
import type { Json } from '../../../projects/tables.ts'
import { sentMembers } from '../../bodies/sent-members.ts'

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
 * sent back: it sets nothing, as the name of a flag does. Refuses settings that would be lost.
 */
export function flagParameters(sent: unknown): object | undefined {
  if (!isObject(sent) || (sent['id'] ?? null) !== null) return undefined
  const { filters = null, ensure_experience_continuity = null, ...others } = sent
  if (filters === null && ensure_experience_continuity === null) return undefined
  requireNone(Object.keys(others).filter((name) => (others[name] ?? null) !== null))
  if (ensure_experience_continuity !== null && typeof ensure_experience_continuity !== 'boolean') {
    throw refused('ensure_experience_continuity must be true or false.')
  }
  const settings = isObject(filters) ? filters : {}
  const unknown = Object.keys(settings).filter((name) => !Object.hasOwn(SETTINGS, name))
  requireNone(unknown.filter((name) => settings[name] !== null))
  const parameters = Object.entries(SETTINGS).map(([name, read]) =>
    Object.hasOwn(settings, name) ? read(settings) : {},
  )
  return Object.assign(
    ensure_experience_continuity === null ? {} : { ensure_experience_continuity },
    ...parameters,
  )
}

/** Returns parameters with the settings that the flag has now: it may have been changed by its own route. */
export function shownParameters(parameters: Json, flag: object | null): object {
  const {
    feature_flag_variants: _variants,
    aggregation_group_type_index: _index,
    rollout_percentage: _share,
    feature_flag_payloads: _payloads,
    ensure_experience_continuity: _continuity,
    ...own
  } = isObject(parameters) ? parameters : {}
  const { filters, ensure_experience_continuity } = isObject(flag) ? flag : {}
  // No flag, or one that the caller may not read.
  if (!isObject(filters)) return isObject(parameters) ? parameters : {}
  const { multivariate, payloads, aggregation_group_type_index } = filters
  const [first] = findSets(filters)
  return sentMembers({
    ...own,
    feature_flag_variants: isObject(multivariate) ? multivariate['variants'] : [],
    aggregation_group_type_index: aggregation_group_type_index ?? undefined,
    rollout_percentage: isObject(first) ? (first['rollout_percentage'] ?? undefined) : undefined,
    feature_flag_payloads: payloads ?? undefined,
    ensure_experience_continuity,
  })
}

/** The share of persons in the only condition set. Refuses conditions, which the flag has by its own route. */
function rolloutOf(groups: unknown): object {
  if (!Array.isArray(groups) || groups.length === 0) return {}
  const [group, ...others] = groups as readonly unknown[]
  const { properties, variant, rollout_percentage } = isObject(group) ? group : {}
  const is_plain = Bun.deepEquals(properties ?? [], []) && (variant ?? null) === null
  if (others.length > 0 || !isObject(group) || !is_plain) {
    throw refused('Release conditions are not set here: edit the feature flag.')
  }
  return { rollout_percentage: rollout_percentage ?? 100 }
}

function requireNone([unknown]: readonly string[]): void {
  if (unknown === undefined) return
  throw refused(`${JSON.stringify(unknown.slice(0, 100))} is not set here: edit the feature flag.`)
}

const refused = (detail: string): Refusal =>
  new Refusal('invalid_input', detail, { attr: 'feature_flag' })
