/** Reads a page of figures in Prometheus' text format. */

/** The values of a page by their whole name, labels included, as `name{label="value"}`. */
export type MetricPage = ReadonlyMap<string, number>

/** Parses a page; lines that are none are skipped. */
export function parseMetrics(page: string): MetricPage {
  const values = new Map<string, number>()
  for (const line of page.split('\n')) {
    const at = line.lastIndexOf(' ')
    if (line.startsWith('#') || at === -1) continue
    values.set(line.slice(0, at), Number(line.slice(at + 1)))
  }
  return values
}

/** The sum of all samples of a name, with labels that include the given text. */
export function sumOf(page: MetricPage, name: string, labels = ''): number {
  let sum = 0
  for (const [key, value] of page) {
    if ((key === name || key.startsWith(`${name}{`)) && key.includes(labels)) sum += value
  }
  return sum
}

/**
 * Estimates a quantile of the durations, in seconds, that were recorded between two pages: the upper bound of its bucket
 * in the histogram; null when none were recorded.
 */
export function quantileBetween(
  before: MetricPage,
  after: MetricPage,
  histogram: { readonly name: string; readonly labels?: string; readonly share: number },
): number | null {
  const { name, labels = '', share } = histogram
  const counts = new Map<number, number>()
  for (const [key, value] of after) {
    if (!key.startsWith(`${name}_bucket{`) || !key.includes(labels)) continue
    const bound = /le="([^"]*)"/.exec(key)?.[1]
    const bound_s = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
    const added = value - (before.get(key) ?? 0)
    counts.set(bound_s, (counts.get(bound_s) ?? 0) + added)
  }
  const total = counts.get(Number.POSITIVE_INFINITY) ?? 0
  if (total === 0) return null
  const sorted = [...counts].toSorted(([one], [other]) => one - other)
  return sorted.find(([, count]) => count >= share * total)?.[0] ?? null
}
