/** Conditions on properties as queries take them, their operators, and both in words. */
import { propertyTitle } from '../names.ts'

/** The kind of object that has a property; `group` needs the index of the group type. */
export type PropertyOwner = 'event' | 'person' | 'group' | 'session'

/** One filter on a property, or on membership in a cohort (`key` is then `id`). */
export type PropertyCondition = {
  /** A HogQL expression is a whole condition: its `key` is the text. */
  readonly type: PropertyOwner | 'cohort' | 'hogql'
  readonly key: string
  readonly operator: string
  readonly value?: ConditionValue
  readonly group_type_index?: number
}

export type ConditionValue =
  | string
  | number
  | boolean
  | readonly (string | number | boolean)[]
  | null

/** The kind of input for the value of an operator. */
export type ValueInput = 'none' | 'many' | 'text' | 'number' | 'date'

type ConditionOperator = {
  readonly name: string
  readonly text: string
  readonly input: ValueInput
  /** The property types that offer it; every type where it is missing. */
  readonly types?: readonly string[]
}

const TEXTS = ['String', '']
const NUMBERS = ['Numeric']
const DATES = ['DateTime']

/** CONDITION_OPERATORS: the operators that an editor offers, the most used first. Adding an operator means adding a line. */
const CONDITION_OPERATORS: readonly ConditionOperator[] = [
  { name: 'exact', text: 'is', input: 'many', types: [...TEXTS, ...NUMBERS, 'Boolean'] },
  { name: 'is_not', text: 'is not', input: 'many', types: [...TEXTS, ...NUMBERS, 'Boolean'] },
  { name: 'icontains', text: 'contains', input: 'text', types: TEXTS },
  { name: 'not_icontains', text: 'does not contain', input: 'text', types: TEXTS },
  { name: 'regex', text: 'matches', input: 'text', types: TEXTS },
  { name: 'not_regex', text: 'does not match', input: 'text', types: TEXTS },
  { name: 'gt', text: 'is greater than', input: 'number', types: [...NUMBERS, ''] },
  { name: 'gte', text: 'is at least', input: 'number', types: NUMBERS },
  { name: 'lt', text: 'is less than', input: 'number', types: [...NUMBERS, ''] },
  { name: 'lte', text: 'is at most', input: 'number', types: NUMBERS },
  { name: 'is_date_exact', text: 'is on', input: 'date', types: DATES },
  { name: 'is_date_before', text: 'is before', input: 'date', types: DATES },
  { name: 'is_date_after', text: 'is after', input: 'date', types: DATES },
  { name: 'is_set', text: 'is set', input: 'none' },
  { name: 'is_not_set', text: 'is not set', input: 'none' },
]

/** The operators for a property type; '' is a type that is not known. */
export function operatorsOf(property_type: string): readonly ConditionOperator[] {
  return CONDITION_OPERATORS.filter(({ types }) => types?.includes(property_type) ?? true)
}

/** The kind of input for an operator's value; text for an unknown operator. */
export function valueInputOf(operator: string): ValueInput {
  return CONDITION_OPERATORS.find(({ name }) => name === operator)?.input ?? 'text'
}

/** Whether the condition is complete, so that a query can use it. */
export function isComplete({ key, operator, value }: PropertyCondition): boolean {
  if (key === '') return false
  if (valueInputOf(operator) === 'none') return true
  if (value === undefined || value === null || value === '') return false
  return !Array.isArray(value) || value.length > 0
}

/** `Browser is Chrome or Firefox`; `cohort_name` names the cohort of a condition on one. */
export function conditionText(condition: PropertyCondition, cohort_name?: string): string {
  const { type, key, operator, value } = condition
  if (type === 'cohort') {
    const name = cohort_name ?? `cohort ${String(value)}`
    return operator === 'not_in' ? `Not in ${name}` : `In ${name}`
  }
  if (type === 'hogql') return key
  const text = CONDITION_OPERATORS.find(({ name }) => name === operator)?.text ?? operator
  const subject = `${propertyTitle(key)} ${text}`
  return valueInputOf(operator) === 'none' ? subject : `${subject} ${valueText(value)}`
}

const VALUES_SHOWN = 2

function valueText(value: ConditionValue | undefined): string {
  const list = Array.isArray(value) ? value.map(String) : [String(value ?? '…')]
  if (list.length <= VALUES_SHOWN) return list.join(' or ')
  return `${list.slice(0, VALUES_SHOWN).join(', ')} or ${list.length - VALUES_SHOWN} more`
}

/** Reads conditions from an address; members that are no conditions are left out. */
export function readConditions(text: string): readonly PropertyCondition[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.filter(isCondition) : []
  } catch {
    return []
  }
}

/** Whether a value is a condition that the editor can show. */
export function isCondition(value: unknown): value is PropertyCondition {
  if (typeof value !== 'object' || value === null) return false
  const { type, key, operator } = value as Readonly<Record<string, unknown>>
  return OWNERS.has(String(type)) && typeof key === 'string' && typeof operator === 'string'
}

const OWNERS: ReadonlySet<string> = new Set([
  'event',
  'person',
  'group',
  'session',
  'cohort',
  'hogql',
])
