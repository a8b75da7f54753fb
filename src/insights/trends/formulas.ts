/** Formulas of trends: lines computed from the series, once per period and breakdown value. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { Slices, sortInSlices } from '../../threads/slices.ts'
import { bucketsOf } from '../dates/buckets.ts'
import { requireNumbers } from '../numbers.ts'
import { type Formula, readFormula } from './formula.ts'
import { type AnsweredLine, formulaResult, type TrendsResult } from './results.ts'
import { rankOf, sumOf } from './values.ts'

type LabeledFormula = { readonly label: string; readonly formula: Formula }

/** Parses the formulas of a query. Refuses invalid ones, naming the member. */
export function formulasOf({ trendsFilter, series }: TrendsQuery): readonly LabeledFormula[] {
  const attr = 'query__trendsFilter'
  const named = (
    text: string,
    custom_name: string | null | undefined,
    member: string,
  ): LabeledFormula => ({
    label: custom_name ? custom_name : `Formula (${text})`,
    formula: readFormula(text, series.length, `${attr}__${member}`),
  })
  const { formulaNodes, formulas, formula } = trendsFilter ?? {}
  if (formulaNodes && formulaNodes.length > 0) {
    return formulaNodes.map((node, index) =>
      named(node.formula, node.custom_name, `formulaNodes__${index}__formula`),
    )
  }
  if (formulas && formulas.length > 0) {
    return formulas.map((text, index) => named(text, null, `formulas__${index}`))
  }
  return formula ? [named(formula, null, 'formula')] : []
}

/** Lines of the same period and value, across series. */
type LineGroup = {
  readonly first: AnsweredLine
  readonly lines: readonly AnsweredLine[]
  readonly is_previous: boolean
  readonly rank: number
  readonly name: string
}

/**
 * Evaluates formulas over lines: those of the query's range before those of the comparison, the
 * largest first. Works in slices: a thousand values by twenty formulas took a second. Refuses more numbers than an answer
 * may hold, before they are made.
 */
export async function evaluateFormulas(
  formulas: readonly LabeledFormula[],
  answered: readonly AnsweredLine[],
): Promise<readonly TrendsResult[]> {
  const slices = new Slices()
  const groups = await groupLines(answered, slices)
  const numbers = groups.reduce((sum, { first }) => sum + bucketsOf(first.plan.range).length, 0)
  requireNumbers(numbers * formulas.length)
  // Every formula sorts the groups by their totals; those of equal totals stay in the order of their names.
  const by_name = await sortInSlices(groups, byName, slices)
  const results: TrendsResult[] = []
  for (const { label, formula } of formulas) {
    const evaluated: EvaluatedGroup[] = []
    for (const group of by_name) {
      const data = await evaluate(group, formula, slices)
      evaluated.push({ group, data, total: sumOf(data) })
    }
    for (const { group, data } of await sortInSlices(evaluated, byRank, slices)) {
      results.push(formulaResult(group.first, label, data))
      if (slices.isOver()) await slices.end()
    }
  }
  return results
}

type EvaluatedGroup = {
  readonly group: LineGroup
  readonly data: readonly number[]
  readonly total: number
}

async function groupLines(
  answered: readonly AnsweredLine[],
  slices: Slices,
): Promise<readonly LineGroup[]> {
  const groups = new Map<string, LineGroup & { readonly lines: AnsweredLine[] }>()
  for (const first of answered) {
    const { plan, line } = first
    const key = JSON.stringify([plan.compare_label, plan.cohort, line.values])
    const group = groups.get(key)
    if (group !== undefined) group.lines.push(first)
    else
      groups.set(key, {
        first,
        lines: [first],
        is_previous: plan.compare_label === 'previous',
        rank: rankOf(line.values),
        name: line.values.join('::'),
      })
    if (slices.isOver()) await slices.end()
  }
  return [...groups.values()]
}

async function evaluate(
  { first, lines }: LineGroup,
  formula: Formula,
  slices: Slices,
): Promise<readonly number[]> {
  const { plan, line } = first
  const by_series = new Map(lines.toReversed().map((one) => [one.plan.series.index, one.line]))
  const series = plan.query.series.map((_, index) => {
    const answered = by_series.get(index)
    return plan.is_total ? [answered?.total ?? 0] : (answered?.data ?? [])
  })
  const steps = plan.is_total ? 1 : line.data.length
  const data: number[] = []
  for (let step = 0; step < steps; step += 1) {
    data.push(formula(series.map((values) => values[step] ?? 0)))
    if (slices.isOver()) await slices.end()
  }
  return data
}

const NATURAL = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

const byName = (a: LineGroup, b: LineGroup): number => NATURAL.compare(a.name, b.name)

function byRank(a: EvaluatedGroup, b: EvaluatedGroup): number {
  return (
    Number(a.group.is_previous) - Number(b.group.is_previous) ||
    a.group.rank - b.group.rank ||
    b.total - a.total
  )
}
