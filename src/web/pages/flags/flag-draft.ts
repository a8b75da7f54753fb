/** The editable form of a flag: read from the stored flag or from an address, and written back into the API's filters. */
import type { ShownFlag } from '../../api/types/shown-flag.ts'

/** Numbers are texts while they are typed. */
export type DraftedFlag = {
  readonly key: string
  /** The description. */
  readonly name: string
  /** Of a new flag; the switch of a stored one applies at once. */
  readonly is_on: boolean
  /** The index of the group type whose groups get the flag; null for persons. */
  readonly group_type: number | null
  /** The value while the flag is on; `true` without variants. */
  readonly variants: readonly DraftVariant[]
  /** JSON text that comes with the value `true`; '' for none. */
  readonly payload: string
  /** A person who meets any of them gets the flag. */
  readonly conditions: readonly DraftCondition[]
  /** Of a copy: the members of its original that the page does not edit. */
  readonly others: FlagMembers
}

/** Members that only the API edits; a copy has them too. */
const COPIED: ReadonlySet<string> = new Set([
  'bucketing_identifier',
  'ensure_experience_continuity',
  'evaluation_contexts',
  'evaluation_runtime',
  'filters',
  'is_remote_configuration',
  'tags',
])

type FlagMembers = Readonly<Record<string, unknown>>

export type DraftVariant = {
  readonly key: string
  /** Percent of those who get the flag. */
  readonly share: string
  /** JSON text; '' for none. */
  readonly payload: string
  /** The stored members that the page does not edit. */
  readonly others: FlagMembers
}

export type DraftCondition = {
  /** Conditions that all hold, also such that the page cannot edit. */
  readonly properties: readonly unknown[]
  /** Percent of those who match; '' for all. */
  readonly share: string
  /** The variant for everyone who matches; '' to choose by the variants' shares. */
  readonly variant: string
  /** The stored members that the page does not edit. */
  readonly others: FlagMembers
}

/** The variants of an experiment. */
export const FIRST_VARIANTS: readonly DraftVariant[] = ['control', 'test'].map((key) => ({
  key,
  share: '50',
  payload: '',
  others: {},
}))

export const NEW_CONDITION: DraftCondition = {
  properties: [],
  share: '100',
  variant: '',
  others: {},
}

export const NEW_FLAG: DraftedFlag = {
  key: '',
  name: '',
  is_on: true,
  group_type: null,
  variants: [],
  payload: '',
  conditions: [NEW_CONDITION],
  others: {},
}

/** The draft of a stored flag. */
export function draftOf({ key, name, active, filters }: ShownFlag): DraftedFlag {
  const { groups, multivariate, payloads, aggregation_group_type_index } = filters
  const group_type = numberOrNull(aggregation_group_type_index)
  const payloads_by_key = fieldsOf(payloads)
  const payloadOf = (value: string): string => {
    const payload = payloads_by_key[value]
    return payload === undefined || payload === null ? '' : textOf(payload)
  }
  return {
    key,
    name,
    is_on: active,
    group_type,
    variants: listOf(fieldsOf(multivariate)['variants']).map((variant) => {
      const { key: variant_key, rollout_percentage, ...others } = fieldsOf(variant)
      const share = textOf(rollout_percentage ?? '')
      return {
        key: textOf(variant_key ?? ''),
        share,
        payload: payloadOf(textOf(variant_key ?? '')),
        others,
      }
    }),
    payload: payloadOf('true'),
    // A flag that was stored without a list of conditions is for everyone; with an empty one it is for nobody.
    conditions: listOf(groups ?? [{}]).map((group) => {
      const { properties, rollout_percentage, variant, ...others } = fieldsOf(group)
      const owner = ownerOf({ others }, group_type)
      return {
        properties: listOf(properties).map((property) => withType(property, owner)),
        share: textOf(rollout_percentage ?? ''),
        variant: textOf(variant ?? ''),
        others,
      }
    }),
    others: {},
  }
}

/** The draft of a new flag that is like a stored one, with the changes of its draft. */
export function copyOf({ filters, ...flag }: ShownFlag, draft: DraftedFlag): DraftedFlag {
  const { groups: _groups, payloads: _payloads, ...others } = filters
  return { ...draft, key: `${draft.key}-copy`, others: copiedOf({ ...flag, filters: others }) }
}

const copiedOf = (members: FlagMembers): FlagMembers =>
  Object.fromEntries(Object.entries(members).filter(([name]) => COPIED.has(name)))

/** The group type of a condition, null for persons: its own, which only the API sets, or the flag's. */
export function ownerOf(
  { others }: Pick<DraftCondition, 'others'>,
  group_type: number | null,
): number | null {
  const { aggregation_group_type_index: own } = others
  return own === undefined ? group_type : numberOrNull(own)
}

/**
 * The property with the type and the operator that the server takes for it where it has none. One on a cohort says by
 * its operator alone whether it is negated.
 */
export function withType(property: unknown, group_type: number | null): unknown {
  const fields = fieldsOf(property)
  const { negation, ...others } = fields
  const cohort_operator = others['operator'] ?? 'in'
  if (fields['type'] === 'cohort' && COHORT_OPERATORS.has(cohort_operator)) {
    const is_in = cohort_operator === 'in' || cohort_operator === 'exact'
    return { ...others, operator: (negation === true) === is_in ? 'not_in' : 'in' }
  }
  const owner =
    group_type === null ? { type: 'person' } : { type: 'group', group_type_index: group_type }
  return { ...owner, operator: 'exact', ...fields }
}

const COHORT_OPERATORS: ReadonlySet<unknown> = new Set(['in', 'exact', 'not_in', 'is_not'])

/** A draft as an address has it; null for anything else. */
export function readDraft(value: unknown): DraftedFlag | null {
  const { key, name, is_on, group_type, variants, payload, conditions, others } = fieldsOf(value)
  if (typeof key !== 'string' || !Array.isArray(conditions)) return null
  return {
    key,
    name: textOf(name ?? ''),
    is_on: is_on !== false,
    group_type: numberOrNull(group_type),
    variants: listOf(variants).map((variant) => {
      const { key: variant_key, share, payload: own, others: its } = fieldsOf(variant)
      return {
        key: textOf(variant_key ?? ''),
        share: textOf(share ?? ''),
        payload: textOf(own ?? ''),
        others: fieldsOf(its),
      }
    }),
    payload: textOf(payload ?? ''),
    conditions: conditions.map((condition) => {
      const { properties, share, variant, others: its } = fieldsOf(condition)
      return {
        properties: listOf(properties),
        share: textOf(share ?? ''),
        variant: textOf(variant ?? ''),
        others: fieldsOf(its),
      }
    }),
    others: copiedOf(fieldsOf(others)),
  }
}

/** The body that stores a draft; `stored` is the flag that it changes, null for a new one. */
export function bodyOf(draft: DraftedFlag, stored: ShownFlag | null): object {
  const { key, name, is_on, group_type, variants, conditions } = draft
  const filters = fieldsOf(stored?.filters ?? draft.others['filters'])
  const multivariate = {
    ...fieldsOf(filters['multivariate']),
    variants: variants.map((variant) => ({
      ...variant.others,
      key: variant.key,
      rollout_percentage: percentOf(variant.share) ?? 0,
    })),
  }
  return {
    ...(stored === null && { ...draft.others, active: is_on }),
    key: key.trim(),
    name,
    filters: {
      ...filters,
      groups: conditions.map(({ properties, share, variant, others }) => ({
        ...others,
        properties,
        rollout_percentage: percentOf(share),
        variant: variant === '' ? null : variant,
      })),
      multivariate: variants.length === 0 ? null : multivariate,
      payloads: payloadsOf(draft),
      aggregation_group_type_index: group_type,
    },
  }
}

function payloadsOf({ variants, payload }: DraftedFlag): Readonly<Record<string, string>> {
  const all: readonly (readonly [string, string])[] =
    variants.length === 0
      ? [['true', payload]]
      : variants.map((variant) => [variant.key, variant.payload])
  return Object.fromEntries(all.filter(([, text]) => text.trim() !== ''))
}

/** The draft's changes when a variant is edited; a condition that names it follows its new name. */
export function changeVariant(
  { variants, conditions }: DraftedFlag,
  at: number,
  changed: Partial<DraftVariant>,
): Pick<DraftedFlag, 'conditions' | 'variants'> {
  const before = variants[at]
  if (before === undefined) return { variants, conditions }
  const after = { ...before, ...changed }
  return {
    variants: variants.with(at, after),
    conditions: renameVariant(conditions, before.key, after.key),
  }
}

/** The draft's changes when a variant is removed; a condition that named it chooses by the shares. */
export function removeVariant(
  { variants, conditions }: DraftedFlag,
  at: number,
): Pick<DraftedFlag, 'conditions' | 'variants'> {
  return {
    variants: variants.toSpliced(at, 1),
    conditions: renameVariant(conditions, variants[at]?.key ?? '', ''),
  }
}

function renameVariant(
  conditions: readonly DraftCondition[],
  before: string,
  after: string,
): readonly DraftCondition[] {
  return conditions.map((condition) =>
    condition.variant !== '' && condition.variant === before
      ? { ...condition, variant: after }
      : condition,
  )
}

/** The same shares for all, in whole percents that add up to 100: `34`, `33`, `33`. */
export function shareEvenly(variants: readonly DraftVariant[]): readonly DraftVariant[] {
  const whole = Math.floor(100 / variants.length)
  const more = 100 - whole * variants.length
  return variants.map((variant, at) => ({
    ...variant,
    share: String(at < more ? whole + 1 : whole),
  }))
}

function percentOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

function fieldsOf(value: unknown): FlagMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as FlagMembers)
    : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
