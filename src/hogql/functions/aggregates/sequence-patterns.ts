/**
 * Patterns of sequenceMatch: parsed, and translated to a regular expression over letters, or to
 * numbers for patterns with times.
 */

import { STEP_KINDS } from '../../scalars/sequences.ts'

type TimeOperator = '<' | '<=' | '==' | '>' | '>='
export type PatternStep =
  | { readonly kind: 'any' | 'rest' }
  | { readonly kind: 'condition'; readonly number: number }
  | { readonly kind: 'time'; readonly operator: TimeOperator; readonly seconds: number }

const STEP = /\(\?(\d+)\)|\(\?t(<=|>=|==|<|>)(\d+)\)|(\.\*)|(\.)/y

/** Parses a pattern over a number of conditions; null when it is invalid. */
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

/** The regular expression. A letter is a set of conditions: code point 19968 plus the set's bits. */
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
      throw new Error('a regular expression sees no times')
    case 'condition': {
      const masks = Array.from({ length: 2 ** conditions }, (_, mask) => mask)
      const fitting = masks.filter((mask) => (mask & (2 ** (step.number - 1))) !== 0)
      return `[${fitting.map((mask) => String.fromCodePoint(19968 + mask)).join('')}]`
    }
  }
}

/** The steps as pairs of numbers; durations in units of the time argument. */
export function patternNumbers(steps: readonly PatternStep[], unit: number): readonly bigint[] {
  return steps.flatMap((step) => {
    if (step.kind === 'time')
      return [BigInt(STEP_KINDS[step.operator]), BigInt(step.seconds) * BigInt(unit)]
    const argument = step.kind === 'condition' ? 1n << BigInt(step.number - 1) : 0n
    return [BigInt(STEP_KINDS[step.kind]), argument]
  })
}
