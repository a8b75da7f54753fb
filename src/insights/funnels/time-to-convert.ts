/** Time to convert between two steps of a funnel, as a histogram. */
import { refuseMember } from '../../errors.ts'
import { alias, and, constant, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import type { InsightAnswer, RunTree } from '../insight.ts'
import { scaleSample } from '../members/conditions.ts'
import { actorsTree } from './actors-tree.ts'
import type { Funnel } from './definition.ts'
import { takenAt, tookStep } from './steps.ts'

const BINS_MAX = 90
/** Maximum number of bins chosen by default. */
const BINS_CHOSEN_MAX = 60
/** The width of the bin when all times are equal. */
const WIDTH_DEFAULT_S = 60

/**
 * Bins from the fastest to the slowest, `[from, count]` in seconds, and the average. Refuses a
 * funnel of one step.
 */
export async function answerTimeToConvert(funnel: Funnel, run: RunTree): Promise<InsightAnswer> {
  const seconds = secondsTree(funnel)
  const spread = await run(
    select`select floor(min(seconds)), ceil(max(seconds)), round(avg(seconds), 2), count() from ${seconds}`,
  )
  const [least, most, average, count] = (spread.rows[0] ?? []).map(Number)
  const bins = binsOf(funnel, { least: least ?? 0, most: most ?? 0, count: count ?? 0 })
  const bin = expr`intDiv(toInt(floor(seconds)) - ${integer(bins.from_s)}, ${integer(bins.width_s)})`
  const { rows, hogql } = await run(
    select`select ${alias(bin, 'bin')}, count() from ${seconds} group by bin order by bin`,
  )
  const counts = new Map(rows.map(([index, people]) => [Number(index), Number(people)]))
  const results = {
    bins: Array.from({ length: bins.count + 1 }, (_, index) => [
      bins.from_s + index * bins.width_s,
      scaleSample(counts.get(index) ?? 0, funnel.query),
    ]),
    average_conversion_time: count === 0 ? null : (average ?? null),
  }
  return { results, hogql }
}

type ConversionSpread = { readonly least: number; readonly most: number; readonly count: number }

/** The slowest may be alone in a last bin. */
function binsOf({ query }: Funnel, { least, most, count }: ConversionSpread) {
  const bin_count = query.funnelsFilter?.binCount ?? 'auto'
  const bins =
    bin_count === 'auto'
      ? between(Math.ceil(Math.cbrt(count)), BINS_CHOSEN_MAX)
      : between(bin_count, BINS_MAX)
  if (count === 0) return { from_s: 0, width_s: Math.ceil(1 / bins), count: bins }
  const width_s = Math.ceil((most - least) / bins) || WIDTH_DEFAULT_S
  return { from_s: least, width_s, count: bins }
}

const between = (value: number, most: number): number => Math.min(most, Math.max(1, value))

/** A row of `seconds` for each actor who converts from one step to the other. */
function secondsTree(funnel: Funnel) {
  const { funnelFromStep, funnelToStep } = funnel.query.funnelsFilter ?? {}
  const last = funnel.steps.length - 1
  const from = funnelFromStep ?? 0
  const to = funnelToStep ?? last
  if (to <= from) {
    const detail = 'Time to convert needs a step after the first.'
    throw refuseMember(detail, 'query__funnelsFilter__funnelToStep')
  }
  const seconds = expr`(${takenAt(to)} - ${takenAt(from)}) / 1000000`
  const converted = and([tookStep(from), tookStep(to)]) ?? constant(true)
  return select`select ${alias(seconds, 'seconds')} from ${actorsTree(withoutValues(funnel), 'steps')}
    where ${converted}`
}

/** One histogram for all actors. */
const withoutValues = (funnel: Funnel): Funnel => ({ ...funnel, breakdowns: null })
