/**
 * Instants inside of lists, tuples and maps that become text: the setting under which rows are sent would write them as
 * seconds since 1970. `[t]` → `arrayMap(i1 -> toString(i1), [t])`; both are printed with the same quotes.
 */

import type { Type } from '../types/types.ts'

/** Whether a value of a type has instants in it. */
export function hasInstants(type: Type): boolean {
  if (type.kind === 'array') return hasInstants(type.of)
  if (type.kind === 'tuple') return type.items.some(hasInstants)
  if (type.kind === 'map') return hasInstants(type.key) || hasInstants(type.value)
  return type.kind === 'datetime'
}

/** The value with texts in place of its instants. */
export function instantsAsTexts(value: string, type: Type, depth = 1): string {
  if (!hasInstants(type)) return value
  const name = `i${depth}`
  if (type.kind === 'array')
    return `arrayMap(${name} -> ${instantsAsTexts(name, type.of, depth + 1)}, ${value})`
  if (type.kind === 'map') {
    const pair = [
      instantsAsTexts('k', type.key, depth + 1),
      instantsAsTexts(name, type.value, depth + 1),
    ]
    return `mapApply((k, ${name}) -> (${pair.join(', ')}), ${value})`
  }
  if (type.kind === 'tuple') {
    const items = type.items.map((item, index) =>
      instantsAsTexts(`tupleElement(${name}, ${index + 1})`, item, depth + 1),
    )
    return `arrayMap(${name} -> tuple(${items.join(', ')}), array(${value}))[1]`
  }
  return `toString(${value})`
}
