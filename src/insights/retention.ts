/** RetentionQuery: of those who start in a step of time, how many are back after how many steps (wire §5.8). */
import type { RetentionQuery } from '../contract/insights/retention.ts'
import type { SelectQuery } from '../hogql/ast.ts'
import { call, compare, constant, field } from '../hogql/nodes.ts'
import { askBins, type SplitBy } from './bins.ts'
import { type Breakdowns, breakdownText, OTHER_VALUES, readBreakdowns } from './breakdown.ts'
import { eventsOf, scaled } from './conditions.ts'
import { freshnessOf, isoLocal, resolvedRange, sinceFirstEvent } from './date-range.ts'
import type { AskRows, InsightContext, InsightKind } from './insight.ts'
import { planRetention, type RetentionPlan, stepLabels } from './retention/plan.ts'
import { type RetentionSplit, retentionCondition, retentionTree } from './retention/tree.ts'
import { expr, select } from './tree.ts'
import { askAll } from './trends.ts'

/** Values of cohorts' breakdowns: everybody is 0. */
const EVERYBODY = 0

export const RETENTION_QUERY: InsightKind<RetentionQuery> = {
  rangeOf: (question, dates) => {
    const { range } = planRetention(question, dates)
    return { ...freshnessOf(range), ends_at_ms: Number(range.to_us / 1000n) }
  },
  answer: async (sent, context, ask) => {
    const question = await sinceFirstEvent(sent, context, ask)
    const plan = planRetention(question, context)
    const asked = { question, plan, context, ask }
    const breakdowns = readBreakdowns(question.breakdownFilter)
    const { tables, hogql } = await tablesOf(asked, breakdowns)
    return {
      results: tables.flatMap((table) => rowsOf(table, asked)),
      hogql,
      said: { resolved_date_range: resolvedRange(plan.range) },
    }
  },
}

type Asked = {
  readonly question: RetentionQuery
  readonly plan: RetentionPlan
  readonly context: InsightContext
  readonly ask: AskRows
}

/** Actors by their start and by the step they are back in; the value is undefined where nothing is split. */
type Table = {
  readonly value: number | string | readonly string[] | undefined
  /** Key `start:offset`. */
  readonly counts: ReadonlyMap<string, number>
}

type Tables = { readonly tables: readonly Table[]; readonly hogql: string | null }

async function tablesOf(asked: Asked, breakdowns: Breakdowns | null): Promise<Tables> {
  if (breakdowns === null) {
    const tree = countedTree(treeOf(asked, { values: [], condition: null }))
    const { rows, hogql } = await askAll(tree, asked.context, asked.ask)
    return { tables: [{ value: undefined, counts: countsOf(rows) }], hogql }
  }
  return breakdowns.kind === 'cohorts'
    ? await tablesOfCohorts(asked, breakdowns.cohorts)
    : await tablesOfValues(asked, breakdowns)
}

/** One question per cohort: an actor may be in several of them. */
async function tablesOfCohorts(
  asked: Asked,
  cohorts: readonly (number | 'all')[],
): Promise<Tables> {
  const tables: Table[] = []
  let first: string | null = null
  for (const cohort of cohorts) {
    const condition =
      cohort === 'all' ? null : compare(field(['person_id']), 'in cohort', constant(BigInt(cohort)))
    const tree = countedTree(treeOf(asked, { values: [], condition }))
    const { rows, hogql } = await askAll(tree, asked.context, asked.ask)
    tables.push({ value: cohort === 'all' ? EVERYBODY : cohort, counts: countsOf(rows) })
    first ??= hogql
  }
  return { tables, hogql: first }
}

type Values = Extract<Breakdowns, { kind: 'values' }>

async function tablesOfValues(asked: Asked, breakdowns: Values): Promise<Tables> {
  const { question, plan, context, ask } = asked
  const binned = {
    events: eventsOf(question),
    condition: retentionCondition(question, plan, context),
  }
  const tree = treeOf(asked, splitBy(await askBins(breakdowns.items, binned, ask)))
  const ranked = rankedTree(tree, breakdowns)
  const { rows, hogql } = await askAll(ranked, context, ask)
  const tables = new Map<string, [unknown, Map<string, number>]>()
  for (const [value, start, offset, actors] of rows) {
    const key = JSON.stringify(value)
    const [, counts] = tables.get(key) ?? [value, new Map<string, number>()]
    tables.set(key, [value, counts.set(`${String(start)}:${String(offset)}`, Number(actors))])
  }
  return {
    tables: [...tables.values()].map(([value, counts]) => ({ value: valueOf(value), counts })),
    hogql,
  }
}

/** What actors are told apart by. */
function splitBy(split: readonly SplitBy[]): RetentionSplit {
  const values = split.map(({ item, edges }) => breakdownText(item, edges))
  return { values, condition: null }
}

function treeOf({ question, plan, context }: Asked, split: RetentionSplit): SelectQuery {
  return retentionTree(question, plan, context, split)
}

/** Rows `start, offset, actors`. */
function countedTree(tree: SelectQuery): SelectQuery {
  const pairs = select`select start, arrayJoin(offsets) as offset from ${tree}`
  return select`select start, offset, count() as actors from ${pairs} group by start, offset`
}

/** Rows `value, start, offset, actors`: the values with the most actors who start, and the others together. */
function rankedTree(
  tree: SelectQuery,
  { items, limit, is_multiple, hides_other }: Values,
): SelectQuery {
  const columns = items.map((_, index) => field([`value_${index}`]))
  const [only = constant('')] = columns
  const value = is_multiple ? call('array', columns) : only
  const other = is_multiple ? call('array', [constant(OTHER_VALUES)]) : constant(OTHER_VALUES)
  const pairs = select`select ${value} as value, start, arrayJoin(offsets) as offset from ${tree}`
  const counted = select`select value, start, offset, count() as actors from ${pairs}
    group by value, start, offset`
  const sized = select`select value, start, offset, actors,
      sum(if(offset = 0, actors, 0)) over (partition by value) as size from ${counted}`
  const placed = select`select value, start, offset, actors,
      dense_rank() over (order by size desc, value) as place from ${sized}`
  const among = expr`place <= ${constant(BigInt(limit))}`
  return select`select if(${among}, value, ${other}) as kept, start, offset, sum(actors) as actors,
      min(place) as first
    from ${placed} where ${hides_other ? among : constant(true)}
    group by kept, start, offset order by first, kept, start, offset`
}

const countsOf = (rows: readonly (readonly unknown[])[]): ReadonlyMap<string, number> =>
  new Map(
    rows.map(([start, offset, actors]) => [`${String(start)}:${String(offset)}`, Number(actors)]),
  )

function valueOf(value: unknown): string | readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

/** One row per start; a step that lies after the last one has no cell. */
function rowsOf(table: Table, { question, plan, context }: Asked): readonly object[] {
  const labels = stepLabels(plan)
  return plan.starts_us.map((start_us, start) => {
    const ahead = plan.brackets === null ? labels.slice(0, labels.length - start) : labels
    const values = ahead.map((label, offset) => ({
      count: scaled(table.counts.get(`${start}:${offset}`) ?? 0, question),
      label,
    }))
    return {
      values,
      label: `${plan.period} ${start}`,
      date: isoLocal(start_us, context),
      ...(table.value === undefined ? {} : { breakdown_value: table.value }),
    }
  })
}
