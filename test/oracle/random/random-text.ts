/** Texts in both languages, and chance that is the same for the same seed. */

/** One text in both languages. */
export type Both = { readonly hogql: string; readonly clickhouse: string }
export type Kind = 'array' | 'cond' | 'date' | 'float' | 'int' | 'maybe' | 'mstr' | 'str' | 'time'
/** What can be named at some place; of another kind it is only shown. */
export type Names = readonly { readonly name: string; readonly kind: Kind | 'other' }[]

/** Numbers by chance, the same ones for the same seed. */
export type Chance = {
  readonly below: (count: number) => number
  readonly one: <Item>(items: readonly Item[]) => Item
}

export function chanceOf(seed: number): Chance {
  let state = (seed * 2654435761 + 97) >>> 0
  const below = (count: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0
    return ((mixed ^ (mixed >>> 16)) >>> 0) % count
  }
  return {
    below,
    one: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to choose from')
      return item
    },
  }
}

/** A text with texts in it, in both languages. */
export function both(pieces: TemplateStringsArray, ...parts: readonly (Both | string)[]): Both {
  const join = (of: keyof Both): string =>
    pieces.map((piece, at) => piece + (at < parts.length ? textOf(parts[at], of) : '')).join('')
  return { hogql: join('hogql'), clickhouse: join('clickhouse') }
}

function textOf(part: Both | string | undefined, of: keyof Both): string {
  if (part === undefined) return ''
  return typeof part === 'string' ? part : part[of]
}

export function joined(parts: readonly Both[], between: string): Both {
  return {
    hogql: parts.map((part) => part.hogql).join(between),
    clickhouse: parts.map((part) => part.clickhouse).join(between),
  }
}

/** A time with microseconds, as HogQL's toDateTime gives it. */
export function instant(text: string): Both {
  return { hogql: `toDateTime('${text}')`, clickhouse: `toDateTime64('${text}', 6)` }
}

export type Make = (kind: Kind) => Both
export type Recipe = (make: Make, chance: Chance, names: Names) => Both

/** A template: `{int}` is any expression of that kind, `{k}` a small number. */
export const t =
  (text: string): Recipe =>
  (make, chance) => {
    const pieces = text.split(/\{(\w+)\}/)
    const parts = pieces.map((piece, at) => {
      if (at % 2 === 0) return both`${piece}`
      return piece === 'k' ? both`${String(1 + chance.below(5))}` : make(piece as Kind)
    })
    return joined(parts, '')
  }
