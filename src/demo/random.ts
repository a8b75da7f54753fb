/** Seeded random numbers: a seed gives the same sequence in every version of the runtime. */

/** Items with weights; at least one. */
export type WeightedItems<T> = readonly [
  readonly [T, number],
  ...(readonly (readonly [T, number])[]),
]

/** A source of random numbers. */
export type RandomSource = {
  /** At least 0, less than 1. */
  next(): number
  /** True with a probability. */
  happens(probability: number): boolean
  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number
  pick<T>(items: readonly [T, ...T[]]): T
  /** Like `pick`, with probabilities proportional to the weights. */
  weighed<T>(items: WeightedItems<T>): T
  /** An exponentially distributed time with this mean. */
  wait(mean: number): number
}

/** Creates a source from a seed; different names of one seed give independent sources. */
export function seededRandom(seed: string, name: string): RandomSource {
  const next = numbersOf(`${seed}/${name}`)
  return {
    next,
    happens: (probability) => next() < probability,
    whole: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
    weighed(items) {
      let rest = next() * items.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [item, weight] of items) {
        rest -= weight
        if (rest < 0) return item
      }
      return items[0][0]
    },
    wait: (mean) => -Math.log(1 - next()) * mean,
  }
}

/** The sfc32 generator (128 bits of state), started from a hash of the text. */
function numbersOf(text: string): () => number {
  const bytes = new Uint8Array(32)
  Bun.SHA256.hash(text, bytes)
  const digest = new DataView(bytes.buffer)
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => digest.getUint32(at)) as [
    number,
    number,
    number,
    number,
  ]
  return () => {
    const sum = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }
}
