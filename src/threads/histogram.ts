/** Histograms of durations. Their numbers may be in shared memory: one thread records, all may read. */

/** The numbers of a histogram at one moment. */
export type HistogramValues = {
  /** Durations by bucket, as many as there are bounds and one for all that are longer. */
  readonly counts: readonly number[]
  /** Seconds. */
  readonly sum_s: number
}

/** Upper bounds of buckets in seconds, inclusive: from the time of a capture to the limit of a query. */
export const DURATION_BUCKETS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

/** Counts of the buckets, then the sum, as doubles. */
export type HistogramMemory = SharedArrayBuffer

export function createHistogramMemory(): HistogramMemory {
  return new SharedArrayBuffer(8 * (DURATION_BUCKETS_S.length + 2))
}

/** Records durations into DURATION_BUCKETS_S. */
export class Histogram {
  readonly #numbers: Float64Array

  constructor(memory: HistogramMemory = createHistogramMemory()) {
    this.#numbers = new Float64Array(memory)
  }

  record(duration_s: number): void {
    const numbers = this.#numbers
    let bucket = 0
    while (bucket < DURATION_BUCKETS_S.length && duration_s > (DURATION_BUCKETS_S[bucket] ?? 0)) {
      bucket += 1
    }
    const sum_at = DURATION_BUCKETS_S.length + 1
    numbers[bucket] = (numbers[bucket] ?? 0) + 1
    numbers[sum_at] = (numbers[sum_at] ?? 0) + duration_s
  }

  read(): HistogramValues {
    const numbers = [...this.#numbers]
    return { counts: numbers.slice(0, -1), sum_s: numbers.at(-1) ?? 0 }
  }
}

/** Histograms by the values of some labels, such as a route and a status. Each is made when it is first needed. */
export class HistogramFamily<Label extends string> {
  readonly #labels: readonly Label[]
  readonly #children = new Map<string, { values: readonly string[]; histogram: Histogram }>()

  /** The values of labels must be of a bounded set: each combination takes memory until the end of the process. */
  constructor(...labels: readonly Label[]) {
    this.#labels = labels
  }

  /** The histogram of these values, one for each label in its order. */
  with(...values: readonly string[]): Histogram {
    const key = values.join('\n')
    const known = this.#children.get(key)
    if (known !== undefined) return known.histogram
    const histogram = new Histogram()
    this.#children.set(key, { values, histogram })
    return histogram
  }

  /** Every histogram with its labels. */
  list(): readonly {
    readonly labels: Readonly<Record<string, string>>
    readonly values: HistogramValues
  }[] {
    return [...this.#children.values()].map(({ values, histogram }) => ({
      labels: Object.fromEntries(this.#labels.map((label, index) => [label, values[index] ?? ''])),
      values: histogram.read(),
    }))
  }
}
