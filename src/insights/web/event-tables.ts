/** Tables of what happens on a website besides views: where people get stuck, and which addresses they leave by (wire §5.7). */
import type {
  WebExternalClicksTableQuery,
  WebStatsTableQuery,
} from '../../contract/insights/web.ts'
import type { Expr } from '../../hogql/ast.ts'
import { alias, field, order } from '../../hogql/nodes.ts'
import { allOf, questionCondition } from '../conditions.ts'
import { freshnessOf, sinceFirstEvent } from '../date-range.ts'
import type { AskRows, InsightAnswer, InsightContext, InsightKind } from '../insight.ts'
import { askPage, pageOf, saidOfPage } from '../page.ts'
import { expr, select } from '../tree.ts'
import { sampledEvents, scaledCount } from './sampling.ts'
import { isWithin, periodsOf, shownPath, TIMES, whenever } from './sessions.ts'

type Question = WebExternalClicksTableQuery | WebStatsTableQuery

/** One table: what rows are, which events are looked at, and what is counted of them. */
type EventTable = {
  /** What the first column is called. */
  readonly name: string
  readonly value: (question: Question, context: InsightContext) => Expr
  readonly events: Expr
  readonly figures: readonly { readonly name: string; readonly of: (within: Expr) => Expr }[]
}

const counted = (name: string, event: Expr): EventTable['figures'][number] => ({
  name,
  of: (within) => expr`countIf(${within} and ${event})`,
})

/** By page: clicks that nothing answers, in anger or just so, and what goes wrong. */
const FRUSTRATION: EventTable = {
  name: 'breakdown_value',
  value: (question, context) => shownPath(expr`toString(properties.$pathname)`, question, context),
  events: expr`event in ('$rageclick', '$dead_click', '$exception')`,
  figures: [
    counted('rage_clicks', expr`event = '$rageclick'`),
    counted('dead_clicks', expr`event = '$dead_click'`),
    counted('errors', expr`event = '$exception'`),
  ],
}

/** By address: clicks that lead elsewhere. */
const EXTERNAL_CLICKS: EventTable = {
  name: 'url',
  value: (question) =>
    'stripQueryParams' in question && question.stripQueryParams === true
      ? expr`cutQueryStringAndFragment(toString(properties.$external_click_url))`
      : expr`toString(properties.$external_click_url)`,
  events: expr`event = '$autocapture'`,
  figures: [
    { name: 'visitors', of: (within) => expr`uniqIf(person_id, ${within})` },
    { name: 'clicks', of: (within) => expr`countIf(${within})` },
  ],
}

export const WEB_EXTERNAL_CLICKS: InsightKind<WebExternalClicksTableQuery> = {
  rangeOf: (question, dates) => freshnessOf(periodsOf(question, dates).current),
  answer: (question, context, ask) => answerTable(EXTERNAL_CLICKS, { question, context, ask }),
}

/** Answers `breakdownBy: FrustrationMetrics`. */
export function answerFrustration(
  question: WebStatsTableQuery,
  context: InsightContext,
  ask: AskRows,
): Promise<InsightAnswer> {
  return answerTable(FRUSTRATION, { question, context, ask })
}

type Asked = {
  readonly question: Question
  readonly context: InsightContext
  readonly ask: AskRows
}

/** Rows of a value and, for each figure, how much it is now and was before; the most first. */
async function answerTable(table: EventTable, asked: Asked): Promise<InsightAnswer> {
  const { context, ask } = asked
  const question = await sinceFirstEvent(asked.question, context, ask)
  const periods = periodsOf(question, context)
  const columns = table.figures.flatMap(({ name, of }) =>
    TIMES.map((time) => alias(of(isWithin(periods, time)), `${name}_${time}`)),
  )
  const value = table.value(question, context)
  const condition = allOf(
    whenever(periods),
    table.events,
    expr`notEmpty(${value})`,
    questionCondition(question, context),
  )
  const tree = select`select ${alias(value, 'value')}, ${columns} from ${sampledEvents(question)}
    where ${condition} group by value`
  const page = pageOf(question, context)
  const most = table.figures.map(({ name }) => order(field([`${name}_now`]), 'DESC'))
  const paged = { ...tree, order_by: [...most, order(field(['value']))] }
  const rows = await askPage(paged, page, { ask, rows_max: context.rows_max })
  const is_compared = periods.previous !== null
  return {
    results: rows.rows.map(([name, ...cells]) => [
      name,
      ...table.figures.map((_, index) => [
        scaledCount(cells[index * 2], question),
        is_compared ? scaledCount(cells[index * 2 + 1], question) : null,
      ]),
    ]),
    hogql: rows.hogql,
    said: {
      ...saidOfPage(rows, page),
      columns: [table.name, ...table.figures.map(({ name }) => name)].map(
        (name) => `context.columns.${name}`,
      ),
      types: ['String', ...table.figures.map(() => 'UInt64')],
    },
  }
}
