/** FUNCTIONS: every function a query can call, by name; aggregates also with combinators (-If, -OrNull…). */

import { AGGREGATE_FUNNELS } from './aggregates/aggregate-funnels.ts'
import { AGGREGATES } from './aggregates/aggregates.ts'
import { applyCombinator } from './aggregates/combinators.ts'
import { FUNNELS } from './aggregates/funnels.ts'
import { GROUPING_FUNCTIONS } from './aggregates/grouping-sets.ts'
import { LIST_BASED_AGGREGATES } from './aggregates/list-aggregates.ts'
import { TIMELINES } from './aggregates/timelines.ts'
import { WINDOWS } from './aggregates/windows.ts'
import { CONVERSIONS } from './conversions.ts'
import { DATES } from './dates/dates.ts'
import { TIME_WINDOWS } from './dates/time-windows.ts'
import type { FunctionDef } from './definition.ts'
import { INTERNAL } from './internal.ts'
import { JAVASCRIPT_SCALARS } from './javascript-scalars.ts'
import { ARRAYS } from './lists/arrays.ts'
import { HIGHER_ORDER } from './lists/higher-order.ts'
import { TUPLES } from './lists/tuples.ts'
import { VECTORS } from './lists/vectors.ts'
import { LOGIC } from './logic.ts'
import { withNullRules } from './null-arguments.ts'
import { ARITHMETIC } from './numbers/arithmetic.ts'
import { BITS } from './numbers/bits.ts'
import { GEOGRAPHY } from './numbers/geography.ts'
import { ROUNDING } from './numbers/rounding.ts'
import { ENCODINGS } from './text/encodings.ts'
import { IP_ADDRESSES } from './text/ip-addresses.ts'
import { JSON_FUNCTIONS } from './text/json.ts'
import { CASE_FUNCTIONS } from './text/letter-case.ts'
import { SEARCH } from './text/search.ts'
import { STRINGS } from './text/strings.ts'
import { URLS } from './text/urls.ts'

/** All groups. Adding a function means adding a line to one of them. */
export const FUNCTIONS: readonly FunctionDef[] = withNullRules([
  ...LOGIC,
  ...ARITHMETIC,
  ...ROUNDING,
  ...BITS,
  ...STRINGS,
  ...CASE_FUNCTIONS,
  ...SEARCH,
  ...CONVERSIONS,
  ...JSON_FUNCTIONS,
  ...ARRAYS,
  ...HIGHER_ORDER,
  ...TUPLES,
  ...DATES,
  ...URLS,
  ...AGGREGATES,
  ...IP_ADDRESSES,
  ...GEOGRAPHY,
  ...ENCODINGS,
  ...JAVASCRIPT_SCALARS,
  ...VECTORS,
  ...TIME_WINDOWS,
  ...FUNNELS,
  ...AGGREGATE_FUNNELS,
  ...TIMELINES,
  ...INTERNAL,
  ...LIST_BASED_AGGREGATES,
  ...GROUPING_FUNCTIONS,
  ...WINDOWS,
])

const EXACT = new Map<string, FunctionDef>()
const ANY_CASE = new Map<string, FunctionDef>()
for (const def of FUNCTIONS) {
  for (const name of def.names) {
    EXACT.set(name, def)
    if (def.any_case) ANY_CASE.set(name.toLowerCase(), def)
  }
}

/** Finds a function by a query's name for it; null when there is none. */
export function findFunction(name: string): FunctionDef | null {
  return findPlain(name) ?? applyCombinator(name, findCombinable)
}

function findCombinable(name: string): FunctionDef | null {
  const def = findPlain(name)
  return def?.is_internal === true ? null : def
}

function findPlain(name: string): FunctionDef | null {
  return EXACT.get(name) ?? ANY_CASE.get(name.toLowerCase()) ?? null
}

/** Names of all functions that texts can call, for "did you mean". */
export function functionNames(): Iterable<string> {
  return FUNCTIONS.filter((def) => def.is_internal !== true).flatMap((def) => def.names)
}
