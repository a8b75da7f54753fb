/** RetentionQuery: the number of actors who start in a period, and of those who return after each number of periods. */
import type { RetentionQuery } from '../../contract/insights/retention.ts'
import type { SelectQuery } from '../../hogql/syntax/ast.ts'
import { call, compare, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import { mapInSlices } from '../../threads/sliced-json.ts'
import { Slices } from '../../threads/slices.ts'
import {
  isoLocal,
  patientFreshnessOf,
  resolvedRange,
  sinceFirstEvent,
} from '../dates/date-range.ts'
import type { InsightKind } from '../insight.ts'
import { queryBins, type SplitBy } from '../members/bins.ts'
import {
  type Breakdowns,
  breakdownText,
  OTHER_VALUES,
  readBreakdowns,
} from '../members/breakdown.ts'
import { eventsOf, scaleSample } from '../members/conditions.ts'
import { requireNumbers } from '../numbers.ts'
import { unionOfLines } from '../printed-lines.ts'
import { queryAll } from '../trends/trends.ts'
import { planRetention, type RetentionPlan, type RetentionRequest, stepLabels } from './plan.ts'
import { type RetentionSplit, retentionCondition, retentionTree } from './tree.ts'

/** The value of all actors in a cohort breakdown: 0. */
const EVERYBODY = 0

export const RETENTION_QUERY: InsightKind<RetentionQuery> = {
  rangeOf: (query, dates) => {
    const { range } = planRetention(query, dates)
    return { ...patientFreshnessOf(range), ends_at_ms: Number(range.to_us / 1000n) }
  },
  answer: async (input, context, run) => {
    const query = await sinceFirstEvent(input, context, run)
    const plan = planRetention(query, context)
    const request = { query, plan, context, run }
    const breakdowns = readBreakdowns(query.breakdownFilter)
    const { tables, hogql } = await tablesOf(request, breakdowns)
    requireCells(tables.length, plan)
    return {
      results: await rowsOf(tables, request),
      hogql,
      metadata: { resolved_date_range: resolvedRange(plan.range) },
    }
  },
}

/** Counts by start and return; the value is undefined without a breakdown. */
type RetentionTable = {
  readonly value: number | string | readonly string[] | undefined
  /** Key `start:offset`. */
  readonly counts: ReadonlyMap<string, number>
}

type RetentionTables = { readonly tables: readonly RetentionTable[]; readonly hogql: string | null }

/** Refuses more cells than an answer may hold, before they are made: those without actors are filled with zeros. */
function requireCells(tables: number, { brackets, starts_us }: RetentionPlan): void {
  const starts = starts_us.length
  const cells = brackets === null ? (starts * (starts + 1)) / 2 : starts * (brackets.length + 1)
  requireNumbers(tables * cells)
}

async function tablesOf(
  request: RetentionRequest,
  breakdowns: Breakdowns | null,
): Promise<RetentionTables> {
  if (breakdowns === null) {
    const tree = countTree(treeOf(request, { values: [], condition: null }))
    const { rows, hogql } = await queryAll(tree, request.context, request.run)
    return { tables: [{ value: undefined, counts: countsOf(rows) }], hogql }
  }
  return breakdowns.kind === 'cohorts'
    ? await tablesOfCohorts(request, breakdowns.cohorts)
    : await tablesOfValues(request, breakdowns)
}

/** A query per cohort, because an actor may be in several of them. */
async function tablesOfCohorts(
  request: RetentionRequest,
  cohorts: readonly (number | 'all')[],
): Promise<RetentionTables> {
  requireCells(cohorts.length, request.plan)
  const tables: RetentionTable[] = []
  const texts: string[] = []
  for (const cohort of cohorts) {
    const condition =
      cohort === 'all' ? null : compare(field(['person_id']), 'in cohort', integer(cohort))
    const tree = countTree(treeOf(request, { values: [], condition }))
    const { rows, hogql } = await queryAll(tree, request.context, request.run)
    tables.push({ value: cohort === 'all' ? EVERYBODY : cohort, counts: countsOf(rows) })
    texts.push(hogql)
  }
  return { tables, hogql: unionOfLines(texts, request.context) }
}

type RetentionValues = Extract<Breakdowns, { kind: 'values' }>

async function tablesOfValues(
  request: RetentionRequest,
  breakdowns: RetentionValues,
): Promise<RetentionTables> {
  const { query, plan, context, run } = request
  const binned = {
    events: eventsOf(query),
    condition: retentionCondition(query, plan, context),
  }
  const tree = treeOf(request, splitBy(await queryBins(breakdowns.items, binned, run)))
  const ranked = rankedTree(tree, breakdowns)
  const { rows, hogql } = await queryAll(ranked, context, run)
  const tables = new Map<string, [unknown, Map<string, number>]>()
  const slices = new Slices()
  for (const [value, start, offset, actors] of rows) {
    const key = JSON.stringify(value)
    const [, counts] = tables.get(key) ?? [value, new Map<string, number>()]
    tables.set(key, [value, counts.set(`${String(start)}:${String(offset)}`, Number(actors))])
    if (slices.isOver()) await slices.end()
  }
  return {
    tables: [...tables.values()].map(([value, counts]) => ({ value: valueOf(value), counts })),
    hogql,
  }
}

/** The breakdown as expressions and conditions. */
function splitBy(split: readonly SplitBy[]): RetentionSplit {
  const values = split.map(({ item, edges }) => breakdownText(item, edges))
  return { values, condition: null }
}

function treeOf({ query, plan, context }: RetentionRequest, split: RetentionSplit): SelectQuery {
  return retentionTree(query, plan, context, split)
}

/** Rows `start, offset, actors`. */
function countTree(tree: SelectQuery): SelectQuery {
  const pairs = select`select start, arrayJoin(offsets) as offset from ${tree}`
  return select`select start, offset, count() as actors from ${pairs} group by start, offset`
}

/** Rows `value, start, offset, actors`: the values with the most starting actors, and the others together. */
function rankedTree(
  tree: SelectQuery,
  { items, limit, is_multiple, hides_other }: RetentionValues,
): SelectQuery {
  const columns = items.map((_, index) => field([`value_${index}`]))
  const [only = constant('')] = columns
  const value = is_multiple ? call('array', columns) : only
  const other = is_multiple ? call('array', [constant(OTHER_VALUES)]) : constant(OTHER_VALUES)
  const pairs = select`select ${value} as value, start, arrayJoin(offsets) as offset from ${tree}`
  const counts = select`select value, start, offset, count() as actors from ${pairs}
    group by value, start, offset`
  const sized = select`select value, start, offset, actors,
      sum(if(offset = 0, actors, 0)) over (partition by value) as size from ${counts}`
  const placed = select`select value, start, offset, actors,
      dense_rank() over (order by size desc, value) as place from ${sized}`
  const among = expr`place <= ${integer(limit)}`
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

/** One row per table and start; periods after the last one have no cell. */
async function rowsOf(
  tables: readonly RetentionTable[],
  { query, plan, context }: RetentionRequest,
): Promise<readonly object[]> {
  const labels = stepLabels(plan)
  const dates = plan.starts_us.map((start_us) => isoLocal(start_us, context))
  const starts = tables.flatMap((table) => dates.map((date, start) => ({ table, date, start })))
  return await mapInSlices(starts, ({ table, date, start }) => {
    const ahead = plan.brackets === null ? labels.slice(0, labels.length - start) : labels
    const values = ahead.map((label, offset) => ({
      count: scaleSample(table.counts.get(`${start}:${offset}`) ?? 0, query),
      label,
    }))
    return {
      values,
      label: `${plan.period} ${start}`,
      date,
      ...(table.value === undefined ? {} : { breakdown_value: table.value }),
    }
  })
}
