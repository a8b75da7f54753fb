/**
 * aggregate_funnel and aggregate_funnel_trends: the funnel folds, over lists of events that a text
 * aggregates itself.
 */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import {
  arrayType,
  elementType,
  FLOAT64,
  intType,
  STRING,
  type Type,
  tupleType,
  UINT32,
  UINT64,
  UNKNOWN,
  UUID,
  withNull,
} from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { type FunctionDef, type Lowering, scalar, type TypeRule } from '../definition.ts'

const INT8 = intType(8, true)
const TEXTS = arrayType(STRING)
const NUMBERS = arrayType(FLOAT64)

/** Refuses lists whose rows do not have the given number of items. */
function requireEvents(events: ResolvedExpr, items: number): void {
  const { type } = events
  const of = elementType(type)
  if (type.kind === 'array' && of.kind === 'tuple' && of.items.length === items) return
  refuseArguments(`The last argument must be an array of tuples of ${items} items`)
}

/** Values as texts that distinguish NULL from ''. */
const textsOf = (list: ResolvedExpr): ResolvedExpr =>
  sql`list_transform(${list}, lambda v: coalesce(to_json(v)::VARCHAR, 'null'))`(TEXTS)

const valueType = (values: ResolvedExpr | undefined): Type =>
  withNull(values === undefined ? UNKNOWN : elementType(values.type))

const stepsType: TypeRule = ({ args }) =>
  arrayType(tupleType([INT8, valueType(args[4]), NUMBERS, arrayType(arrayType(UUID)), UINT32]))

/** `(steps, seconds, attribution, order, values, optional steps, [(second, uuid, value, [step])])`. */
const steps: Lowering = (call) => {
  const [
    count = NULL_VALUE,
    window = NULL_VALUE,
    attribution = NULL_VALUE,
    order = NULL_VALUE,
    values = NULL_VALUE,
    optional = NULL_VALUE,
    events = NULL_VALUE,
  ] = call.args
  requireEvents(events, 4)
  const times = sql`list_transform(${events}, lambda e: (e."1")::DOUBLE)`(NUMBERS)
  const uuids = sql`list_transform(${events}, lambda e: (e."2")::VARCHAR)`(TEXTS)
  const event_values = textsOf(sql`list_transform(${events}, lambda e: e."3")`(UNKNOWN))
  const taken = sql`list_transform(${events}, lambda e: (e."4")::BIGINT[])`(UNKNOWN)
  const folded =
    sql`js_aggregate_funnel((${count})::BIGINT, (${window})::DOUBLE, ${attribution}, ${order}, ${textsOf(values)}, (${optional})::BIGINT[], ${times}, ${uuids}, ${event_values}, ${taken})`(
      UNKNOWN,
    )
  return sql`list_transform(${folded}, lambda r: {'1': r."1", '2': (${values})[r."2"], '3': r."3", '4': (r."4")::UUID[][], '5': r."5"})`(
    call.type,
  )
}

const entrancesType: TypeRule = ({ args }) =>
  arrayType(tupleType([UINT64, INT8, valueType(args[6]), UUID]))

/** `(from step, to step, steps, seconds, attribution, order, values, [(second, bucket, uuid, value, [step])])`. */
const entrances: Lowering = (call) => {
  const [
    from = NULL_VALUE,
    to = NULL_VALUE,
    ,
    window = NULL_VALUE,
    attribution = NULL_VALUE,
    order = NULL_VALUE,
    values = NULL_VALUE,
    events = NULL_VALUE,
  ] = call.args
  requireEvents(events, 5)
  const times = sql`list_transform(${events}, lambda e: (e."1")::DOUBLE)`(NUMBERS)
  const buckets = sql`list_transform(${events}, lambda e: (e."2")::BIGINT)`(UNKNOWN)
  const uuids = sql`list_transform(${events}, lambda e: (e."3")::VARCHAR)`(TEXTS)
  const event_values = textsOf(sql`list_transform(${events}, lambda e: e."4")`(UNKNOWN))
  const taken = sql`list_transform(${events}, lambda e: (e."5")::BIGINT[])`(UNKNOWN)
  const folded =
    sql`js_aggregate_funnel_trends((${from})::BIGINT, (${to})::BIGINT, (${window})::DOUBLE, ${attribution}, ${order}, ${textsOf(values)}, ${times}, ${buckets}, ${uuids}, ${event_values}, ${taken})`(
      UNKNOWN,
    )
  return sql`list_transform(${folded}, lambda r: {'1': r."1", '2': r."2", '3': (${values})[r."3"], '4': (r."4")::UUID})`(
    call.type,
  )
}

const STEPS_NAMES =
  'aggregate_funnel|aggregate_funnel_array|aggregate_funnel_cohort|aggregate_funnel_test|aggregate_funnel_json|aggregate_funnel_array_json|aggregate_funnel_cohort_json'
const TRENDS_NAMES =
  'aggregate_funnel_trends|aggregate_funnel_array_trends|aggregate_funnel_cohort_trends|aggregate_funnel_array_trends_test|aggregate_funnel_trends_json|aggregate_funnel_array_trends_json|aggregate_funnel_cohort_trends_json'

/** Values of any type are compared as texts; the names differ for historical reasons. */
export const AGGREGATE_FUNNELS: readonly FunctionDef[] = [
  scalar(STEPS_NAMES, '7', stepsType, steps),
  scalar(TRENDS_NAMES, '8', entrancesType, entrances),
]
