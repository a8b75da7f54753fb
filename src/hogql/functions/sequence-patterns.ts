/** Patterns of sequenceMatch: read, turned into a regular expression over letters, or walked where they look at the clock. */

import type { Expr, Local } from '../ir.ts'
import { bindInt, sql } from '../spell.ts'
import { TRUTH, UNKNOWN } from '../types.ts'

type TimeOperator = '<' | '<=' | '==' | '>' | '>='
export type PatternStep =
  | { readonly kind: 'any' | 'rest' }
  | { readonly kind: 'condition'; readonly number: number }
  | { readonly kind: 'time'; readonly operator: TimeOperator; readonly seconds: number }

const STEP = /\(\?(\d+)\)|\(\?t(<=|>=|==|<|>)(\d+)\)|(\.\*)|(\.)/y

/** The steps of a pattern over so many conditions; null when it is none. */
export function readPattern(text: string, conditions: number): readonly PatternStep[] | null {
  const steps: PatternStep[] = []
  const reader = new RegExp(STEP)
  while (reader.lastIndex < text.length) {
    const match = reader.exec(text)
    if (match === null) return null
    const [, number, operator, seconds, rest] = match
    if (number !== undefined) steps.push({ kind: 'condition', number: Number(number) })
    else if (operator !== undefined)
      steps.push({ kind: 'time', operator: operator as TimeOperator, seconds: Number(seconds) })
    else steps.push({ kind: rest === undefined ? 'any' : 'rest' })
  }
  const inside = steps.every(
    (step) => step.kind !== 'condition' || (step.number >= 1 && step.number <= conditions),
  )
  return inside && steps.length > 0 ? steps : null
}

/** The same over letters that stand for sets of conditions, the code of a letter being 19968 and the set's bits. */
export function patternText(steps: readonly PatternStep[], conditions: number): string {
  return steps.map((step) => stepText(step, conditions)).join('')
}

function stepText(step: PatternStep, conditions: number): string {
  switch (step.kind) {
    case 'any':
      return '.'
    case 'rest':
      return '.*?'
    case 'time':
      throw new Error('a regular expression sees no clock')
    case 'condition': {
      const masks = Array.from({ length: 2 ** conditions }, (_, mask) => mask)
      const fitting = masks.filter((mask) => (mask & (2 ** (step.number - 1))) !== 0)
      return `[${fitting.map((mask) => String.fromCodePoint(19968 + mask)).join('')}]`
    }
  }
}

const ROWS: Local = { kind: 'local', id: -120, type: UNKNOWN }
const placesAt = (step: number): Local => ({ kind: 'local', id: -121 - step, type: UNKNOWN })

/**
 * Whether rows `{t, m}` match: the places behind each step are all that can be reached, `p` the next row, `b` the moment
 * a time condition counts from. A time condition skips rows until it holds, as ClickHouse's does.
 */
export function matchSteps(rows: Expr, steps: readonly PatternStep[], unit: number): Expr {
  const begin =
    sql`list_transform(range(1, len(${ROWS}) + 1), lambda i: {'p': i, 'b': ${ROWS}[i].t})`(UNKNOWN)
  let body: Expr = sql`len(${placesAt(steps.length)}) > 0`(TRUTH)
  for (const [index, step] of [...steps.entries()].toReversed()) {
    const after = stepPlaces(placesAt(index), step, unit)
    body = sql`(list_transform([${after}], lambda ${placesAt(index + 1)}: ${body}))[1]`(TRUTH)
  }
  const from_first = sql`(list_transform([${begin}], lambda ${placesAt(0)}: ${body}))[1]`(TRUTH)
  return sql`(list_transform([ch_few(${rows})], lambda ${ROWS}: ${from_first}))[1]`(TRUTH)
}

function stepPlaces(places: Expr, step: PatternStep, unit: number): Expr {
  switch (step.kind) {
    case 'any':
      return sql`list_transform(list_filter(${places}, lambda e: e.p <= len(${ROWS})), lambda e: {'p': e.p + 1, 'b': ${ROWS}[e.p].t})`(
        UNKNOWN,
      )
    case 'condition': {
      const bit = bindInt(2 ** (step.number - 1), true)
      return sql`list_transform(list_filter(${places}, lambda e: e.p <= len(${ROWS}) AND (${ROWS}[e.p].m & ${bit}) <> 0), lambda e: {'p': e.p + 1, 'b': ${ROWS}[e.p].t})`(
        UNKNOWN,
      )
    }
    case 'rest':
      return skipped(places, sql`true`(TRUTH))
    case 'time': {
      const length = bindInt(BigInt(step.seconds) * BigInt(unit), true)
      return skipped(places, lasts(step.operator, length))
    }
  }
}

/** All later places, from each place, at which the condition on the moments `e.b` and `g` holds. */
function skipped(places: Expr, holds: Expr): Expr {
  const later =
    sql`list_transform(list_filter(range(e.p, len(${ROWS}) + 1), lambda q: list_transform([${ROWS}[q].t - e.b], lambda d: ${holds})[1]), lambda q: {'p': q, 'b': ${ROWS}[q].t})`(
      UNKNOWN,
    )
  return sql`list_distinct(flatten(list_transform(${places}, lambda e: ${later})))`(UNKNOWN)
}

function lasts(operator: TimeOperator, length: Expr): Expr {
  switch (operator) {
    case '<':
      return sql`d < ${length}`(TRUTH)
    case '<=':
      return sql`d <= ${length}`(TRUTH)
    case '==':
      return sql`d = ${length}`(TRUTH)
    case '>':
      return sql`d > ${length}`(TRUTH)
    case '>=':
      return sql`d >= ${length}`(TRUTH)
  }
}
