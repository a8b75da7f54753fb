/** FUNCTIONS: every function a query can call, by name; aggregates also with combinators (-If, -OrNull…). */

import { ADDRESSES } from './addresses.ts'
import { AGGREGATE_FUNNELS } from './aggregate-funnels.ts'
import { AGGREGATES } from './aggregates.ts'
import { ARITHMETIC } from './arithmetic.ts'
import { ARRAYS } from './arrays.ts'
import { BITS } from './bits.ts'
import { applyCombinator } from './combinators.ts'
import { CONVERSIONS } from './conversions.ts'
import { DATES } from './dates.ts'
import type { FunctionDef } from './definition.ts'
import { ENCODINGS } from './encodings.ts'
import { FUNNELS } from './funnels.ts'
import { GEOGRAPHY } from './geography.ts'
import { KEY_SETS } from './grouping-sets.ts'
import { HIGHER_ORDER } from './higher-order.ts'
import { INNER } from './internal.ts'
import { COMPUTED } from './javascript-scalars.ts'
import { JSON_FUNCTIONS } from './json.ts'
import { CASE_FUNCTIONS } from './letters.ts'
import { GROUPINGS } from './list-aggregates.ts'
import { LOGIC } from './logic.ts'
import { NETWORKS } from './networks.ts'
import { withNullRules } from './null-arguments.ts'
import { ROUNDING } from './rounding.ts'
import { SEARCH } from './search.ts'
import { STRINGS } from './strings.ts'
import { TIME_WINDOWS } from './time-windows.ts'
import { TIMELINES } from './timelines.ts'
import { TUPLES } from './tuples.ts'
import { URLS } from './urls.ts'
import { SERIES } from './vectors.ts'
import { WINDOWS } from './windows.ts'

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
  ...ADDRESSES,
  ...JSON_FUNCTIONS,
  ...ARRAYS,
  ...HIGHER_ORDER,
  ...TUPLES,
  ...DATES,
  ...URLS,
  ...AGGREGATES,
  ...NETWORKS,
  ...GEOGRAPHY,
  ...ENCODINGS,
  ...COMPUTED,
  ...SERIES,
  ...TIME_WINDOWS,
  ...FUNNELS,
  ...AGGREGATE_FUNNELS,
  ...TIMELINES,
  ...INNER,
  ...GROUPINGS,
  ...KEY_SETS,
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
