/** Behavioral filters: actors who performed an event within some time, or a number of times. */
import { refuseMember } from '../../errors.ts'
import type { CompareOperator, Expr } from '../../hogql/syntax/ast.ts'
import { and, call, compare, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { select } from '../../hogql/template.ts'
import { numberOf } from '../../json.ts'
import { readDate } from '../dates/dates.ts'
import { instant, type OperatorContext } from './filter-operators.ts'

/** The filter as sent. */
type BehavioralFilter = Readonly<Record<string, unknown>>

/** Parses conditions on event properties; a parameter, because the property filters import this file. */
type ReadFilters = (filters: readonly unknown[]) => Expr | null

const COMPARISONS: ReadonlyMap<unknown, CompareOperator> = new Map([
  ['eq', '=='],
  ['exact', '=='],
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
] as const)

const UNITS: ReadonlyMap<unknown, string> = new Map([
  ['minute', 'toIntervalMinute'],
  ['hour', 'toIntervalHour'],
  ['day', 'toIntervalDay'],
  ['week', 'toIntervalWeek'],
  ['month', 'toIntervalMonth'],
  ['year', 'toIntervalYear'],
])

const TIME_VALUE_MAX = 10_000

/**
 * The condition that a person performed the event, or with `negation` did not. Refuses behaviors
 * that need more than events.
 */
export function behavioralCondition(
  filter: BehavioralFilter,
  prefix: readonly string[],
  context: OperatorContext & { readonly readFilters: ReadFilters },
): Expr {
  const { key, value, event_type, event_filters, negation } = filter
  if (event_type !== undefined && event_type !== null && event_type !== 'events') {
    throw refuseMember('Behavioral filters can only ask about events.', context.attr)
  }
  const conditions = [
    compare(field(['event']), '==', constant(String(key))),
    compare(field(['timestamp']), '>=', since(filter, context)),
    context.readFilters(Array.isArray(event_filters) ? event_filters : []),
  ]
  const people = {
    ...select`select person_id from events group by person_id`,
    where: and(conditions),
    having: value === 'performed_event' ? null : howOften(filter, context),
  }
  const person = field([...prefix, 'person_id'])
  return compare(person, negation === true ? 'not in' : 'in', people)
}

function since(filter: BehavioralFilter, context: OperatorContext): Expr {
  const { explicit_datetime, time_value, time_interval } = filter
  if (typeof explicit_datetime === 'string') {
    return instant(readDate(explicit_datetime, context, context.attr))
  }
  const unit = UNITS.get(time_interval ?? 'day')
  const amount = numberOf(time_value ?? 30)
  const is_time = Number.isInteger(amount) && amount > 0 && amount <= TIME_VALUE_MAX
  if (unit === undefined || !is_time) {
    throw refuseMember(
      'time_value and time_interval of a behavioral filter make no time.',
      context.attr,
    )
  }
  return call('minus', [call('now', []), call(unit, [integer(amount)])])
}

function howOften(filter: BehavioralFilter, context: OperatorContext): Expr {
  const { value, operator, operator_value } = filter
  if (value !== 'performed_event_multiple') {
    throw refuseMember(`Behavioral filters cannot ask for ${JSON.stringify(value)}.`, context.attr)
  }
  const comparison = COMPARISONS.get(operator ?? 'gte')
  const count = numberOf(operator_value)
  if (comparison === undefined || !Number.isSafeInteger(count) || count < 0) {
    throw refuseMember(
      'operator and operator_value of a behavioral filter make no count.',
      context.attr,
    )
  }
  return compare(call('count', []), comparison, integer(count))
}
