/**
 * Parameters of a printed statement. Equal values share one: the engine treats `f($1) … GROUP BY
 * f($2)` as two expressions.
 */

import type { Type } from '../types/types.ts'

/** The types a bound value can have, in the engine's names; FILE is the number of a gathered file, whose path is bound. */
type BoundType =
  | 'BIGINT'
  | 'BOOLEAN'
  | 'DATE'
  | 'DOUBLE'
  | 'FILE'
  | 'HUGEINT'
  | 'TIMESTAMP'
  | 'UUID'
  | 'VARCHAR'

/** A value for `$n`. TIMESTAMP is bigint microseconds, DATE bigint days since 1970, UUID its text. */
export type BoundValue = {
  readonly type: BoundType
  readonly value: bigint | boolean | number | string
}

/** Longer texts are compared with each other: hashing 8 MB takes 7 ms, finding them different none. */
const LONG_TEXT_LENGTH = 4096

/** Collects values in the order of their numbers. */
export class StatementParameters {
  readonly values: BoundValue[] = []
  /** Indexes of the values that are relative to `now`. */
  readonly relative_values: number[] = []
  readonly #numbers = new Map<string, number>()
  /** The numbers of long texts. */
  readonly #long_texts: number[] = []

  /** The project's id never shares its parameter with a number of the query. */
  project(project_id: number): number {
    return this.#numberOf('project', { type: 'BIGINT', value: BigInt(project_id) })
  }

  /** The path of a gathered file. */
  file(file: number): number {
    return this.number({ type: 'FILE', value: BigInt(file) })
  }

  number(value: BoundValue): number {
    if (typeof value.value === 'string' && value.value.length >= LONG_TEXT_LENGTH)
      return this.#longText(value)
    const text = Object.is(value.value, -0) ? '-0' : String(value.value)
    return this.#numberOf(`${value.type} ${text}`, value)
  }

  /** A relative time never shares its parameter with a constant, even where the two are equal now. */
  relativeNumber(value: BoundValue): number {
    const count = this.values.length
    const number = this.#numberOf(`relative ${value.type} ${value.value}`, value)
    if (number > count) this.relative_values.push(count)
    return number
  }

  #longText(text: BoundValue): number {
    const known = this.#long_texts.find((number) => {
      const other = this.values[number - 1]
      return other?.type === text.type && other.value === text.value
    })
    if (known !== undefined) return known
    this.values.push(text)
    this.#long_texts.push(this.values.length)
    return this.values.length
  }

  #numberOf(key: string, value: BoundValue): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.values.push(value)
    this.#numbers.set(key, this.values.length)
    return this.values.length
  }
}

/** The engine's type for a value of a type. */
export function boundType(value: bigint | boolean | number | string, type: Type): BoundType {
  if (typeof value === 'number') return 'DOUBLE'
  if (typeof value === 'boolean') return 'BOOLEAN'
  if (typeof value === 'string') return type.kind === 'uuid' ? 'UUID' : 'VARCHAR'
  if (type.kind === 'datetime') return 'TIMESTAMP'
  if (type.kind === 'date') return 'DATE'
  return value >= -(2n ** 63n) && value < 2n ** 63n ? 'BIGINT' : 'HUGEINT'
}
