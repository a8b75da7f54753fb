/** What an attacker sends: requests that grow, each made for one place of the server. */
import type { Place } from '../http/two-places.ts'

export type Sent = {
  readonly method: string
  readonly path: string
  /** Texts are JSON; bytes go as they are, under `content_type`. */
  readonly body: string | Uint8Array<ArrayBuffer> | FormData | null
  readonly content_encoding?: string
  /** The token of the request; by default the key of the place. */
  readonly bearer?: string
}

/** Requests of a size, sent one after the other. */
export type Attack = {
  readonly name: string
  /** Ascending. After two sizes that are refused only the largest is tried. */
  readonly sizes: readonly number[]
  readonly requests: (size: number, place: Place) => readonly Sent[]
}

/** Doubled from one size to another, both included. */
export function doubled(from: number, to: number): readonly number[] {
  const sizes: number[] = []
  for (let size = from; size < to; size *= 2) sizes.push(size)
  return [...sizes, to]
}

export const KIB = 1024
/** A little less than what a management body may have. */
export const BODY_LENGTH_MAX = 2 * KIB * KIB - 64 * KIB
