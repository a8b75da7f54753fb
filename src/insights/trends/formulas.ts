/** Formulas of trends: lines computed from the series, once per period and breakdown value. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
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

/**
 * Evaluates formulas over lines: those of the query's range before those of the comparison, the
 * largest first.
 */
export function evaluateFormulas(
  formulas: readonly LabeledFormula[],
  answered: readonly AnsweredLine[],
): readonly TrendsResult[] {
  const groups = [...Map.groupBy(answered, keyOf).values()]
  return formulas.flatMap(({ label, formula }) =>
    groups
      .map((group) => evaluate(group, label, formula))
      .toSorted(byRank)
      .map(({ result }) => result),
  )
}

/** Lines of the same period and value are combined, across series. */
function keyOf({ plan, line }: AnsweredLine): string {
  return JSON.stringify([plan.compare_label, plan.cohort, line.values])
}

function evaluate(group: readonly AnsweredLine[], label: string, formula: Formula): AnsweredLine {
  const [first] = group
  if (first === undefined) throw new Error('a group of lines is empty')
  const { plan, line } = first
  const series = plan.query.series.map((_, index) => {
    const match = group.find((one) => one.plan.series.index === index)?.line
    return plan.is_total ? [match?.total ?? 0] : (match?.data ?? [])
  })
  const steps = plan.is_total ? 1 : line.data.length
  const data = Array.from({ length: steps }, (_, step) =>
    formula(series.map((values) => values[step] ?? 0)),
  )
  const result = formulaResult(first, label, data)
  return { plan, line: { ...line, data, total: sumOf(data) }, result }
}

const NATURAL = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

function byRank(a: AnsweredLine, b: AnsweredLine): number {
  return (
    Number(a.plan.compare_label === 'previous') - Number(b.plan.compare_label === 'previous') ||
    rankOf(a.line.values) - rankOf(b.line.values) ||
    b.line.total - a.line.total ||
    NATURAL.compare(a.line.values.join('::'), b.line.values.join('::'))
  )
}
