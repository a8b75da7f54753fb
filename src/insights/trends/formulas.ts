/** Formulas of trends: lines worked out of the series, once for each time and value that they are split by. */
import type { TrendsQuery } from '../../contract/insights/trends.ts'
import { type Formula, readFormula } from './formula.ts'
import { type Answered, formulaResult, type Result } from './results.ts'
import { placeOf, sumOf } from './values.ts'

type Named = { readonly label: string; readonly formula: Formula }

/** The formulas of a question. Refuses those that cannot be read, naming the member. */
export function formulasOf({ trendsFilter, series }: TrendsQuery): readonly Named[] {
  const attr = 'query__trendsFilter'
  const named = (text: string, custom_name: string | null | undefined, member: string): Named => ({
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

/** What formulas make of the lines: those of the own time before those it is compared with, the largest first. */
export function workedOut(
  formulas: readonly Named[],
  answered: readonly Answered[],
): readonly Result[] {
  const groups = [...Map.groupBy(answered, keyOf).values()]
  return formulas.flatMap(({ label, formula }) =>
    groups
      .map((group) => evaluate(group, label, formula))
      .toSorted(byRank)
      .map(({ result }) => result),
  )
}

/** Lines of the same time and value belong together, whatever their series. */
function keyOf({ asked, line }: Answered): string {
  return JSON.stringify([asked.compare_label, asked.cohort, line.values])
}

function evaluate(group: readonly Answered[], label: string, formula: Formula): Answered {
  const [first] = group
  if (first === undefined) throw new Error('a group of lines is empty')
  const { asked, line } = first
  const series = asked.question.series.map((_, index) => {
    const found = group.find((one) => one.asked.series.index === index)?.line
    return asked.is_total ? [found?.total ?? 0] : (found?.data ?? [])
  })
  const steps = asked.is_total ? 1 : line.data.length
  const data = Array.from({ length: steps }, (_, step) =>
    formula(series.map((values) => values[step] ?? 0)),
  )
  const result = formulaResult(first, label, data)
  return { asked, line: { ...line, data, total: sumOf(data) }, result }
}

const NATURAL = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

function byRank(a: Answered, b: Answered): number {
  return (
    Number(a.asked.compare_label === 'previous') - Number(b.asked.compare_label === 'previous') ||
    placeOf(a.line.values) - placeOf(b.line.values) ||
    b.line.total - a.line.total ||
    NATURAL.compare(a.line.values.join('::'), b.line.values.join('::'))
  )
}
