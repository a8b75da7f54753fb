/** Functions the engine lacks, computed by this program row by row: pure, deterministic, total, and guarded in size. */

/** What the engine hands over and takes back. Rows of a tuple are lists of their items, in order. */
export type ScalarValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | readonly ScalarValue[]

/** `integer` has 64 bits, `wide` 128; `bytes` are a text's UTF-8, or any other bytes. */
export type ScalarType =
  | 'bytes'
  | 'integer'
  | 'number'
  | 'text'
  | 'truth'
  | 'wide'
  | { readonly list: ScalarType }
  | { readonly tuple: readonly ScalarType[] }

/** One function. The engine answers NULL by itself when an argument is NULL: `compute` never sees one. */
export type ScalarFunction = {
  /** The name in printed SQL; users cannot write it, their names are looked up in the registry. */
  readonly name: `js_${string}`
  readonly takes: readonly ScalarType[]
  readonly gives: ScalarType
  /** How many of the first arguments are constants of the query: they are read once for many rows. */
  readonly fixed?: number
  /** Throws a ScalarRefusal for what cannot be computed; anything else thrown is a bug. */
  readonly compute: (...args: never[]) => ScalarValue
}

/** What a function says to the caller instead of computing: the query fails with this sentence. */
export class ScalarRefusal extends Error {}
