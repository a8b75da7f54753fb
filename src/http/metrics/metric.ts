/** One metric of a page: its name, and how its samples are read. */

/** One value with its labels. The lines of a histogram have a suffix each. */
export type MetricSample = {
  readonly suffix?: '_bucket' | '_count' | '_sum'
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type MetricDefinition<Source> = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly read: (source: Source) => readonly MetricSample[]
}

/** A gauge with one value and no labels. */
export function gauge<Source>(
  name: string,
  help: string,
  read: (source: Source) => number,
): MetricDefinition<Source> {
  return {
    name: `tidemark_${name}`,
    type: 'gauge',
    help,
    read: (source) => [{ labels: {}, value: read(source) }],
  }
}

/** A counter since the start, with one value and no labels. */
export function counter<Source>(
  ...described: Parameters<typeof gauge<Source>>
): MetricDefinition<Source> {
  return { ...gauge(...described), type: 'counter' }
}
