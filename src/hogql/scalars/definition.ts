/** The type of a TypeScript scalar: pure, deterministic, total, limited in size, called row by row. */

/** Values exchanged with the engine. Rows of a tuple are lists of their items, in order. */
export type ScalarValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | readonly ScalarValue[]

/** `integer` has 64 bits, `wide` 128; `bytes` are UTF-8 text or arbitrary bytes. */
export type ScalarType =
  | 'bytes'
  | 'integer'
  | 'number'
  | 'text'
  | 'truth'
  | 'wide'
  | { readonly list: ScalarType }
  | { readonly tuple: readonly ScalarType[] }

/** One function. The engine returns NULL itself when an argument is NULL: `compute` never receives one. */
export type ScalarFunction = {
  /** The name in printed SQL. Users cannot call it: their names are looked up in the registry. */
  readonly name: `js_${string}`
  readonly takes: readonly ScalarType[]
  readonly gives: ScalarType
  /** The number of leading arguments that are constants of the query, which are parsed once for many rows. */
  readonly fixed?: number
  /** Throws a ScalarRefusal for values that cannot be computed; anything else thrown is a bug. */
  readonly compute: (...args: never[]) => ScalarValue
}

/** Fails the query with this message to the caller. */
export class ScalarRefusal extends Error {}
