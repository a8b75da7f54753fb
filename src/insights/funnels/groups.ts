/** Groups of a funnel: breakdown values and cohorts, queried, ranked, and named in answers. */
import type { Expr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { call, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import type { RunTree } from '../insight.ts'
import { unionOfLines } from '../printed-lines.ts'
import type { FunnelCohort } from './actors-tree.ts'
import type { Funnel } from './definition.ts'

/** The name of all values beyond the limit. */
const OTHER = 'Other'

/** A group of actors: one for each value of the breakdown, or a single group without a name. */
export type FunnelGroup = {
  /** Its name and value in answers: a list of values, a group property, or the cohort's id. */
  readonly named: { readonly breakdown: unknown; readonly breakdown_value: unknown } | null
  readonly row: readonly unknown[]
}

/** Groups of rows of `actorsTree`, and the order by which the first ones are kept. */
export type GroupRanking = {
  readonly rows: (cohort: FunnelCohort) => SelectQuery
  /** Descending; a group whose last item is 0 has no actors. */
  readonly rank: readonly Expr[]
}

/** A query per group: the columns after the value, and the ranking of groups. */
type GroupedFunnel = GroupRanking & {
  readonly columns: readonly Expr[]
  /** Whether the groups beyond the limit are one more group. */
  readonly has_others: boolean
}

type GroupedRows = { readonly groups: readonly FunnelGroup[]; readonly hogql: string }

/** Queries all groups: the largest first, finally, where wanted, all beyond the limit together. */
export async function queryGroups(
  funnel: Funnel,
  grouped: GroupedFunnel,
  run: RunTree,
): Promise<GroupedRows> {
  const { breakdowns } = funnel
  if (breakdowns?.kind === 'cohorts') return queryCohorts(funnel, grouped, run)
  const limit = breakdowns?.limit ?? 1
  const { rows, hogql } = await run(firstTree(grouped, grouped.columns, limit + 1))
  if (breakdowns === null)
    return { groups: rows.map((row) => ({ named: null, row: row.slice(1) })), hogql }
  const first = rows.slice(0, limit)
  const groups = first.map(([value, ...row]) => ({ named: nameOf(funnel, String(value)), row }))
  const hides_other = breakdowns.hides_other || !grouped.has_others
  if (rows.length <= limit || hides_other) return { groups, hogql }
  const value_constants = first.map(([value]) => constant(String(value)))
  const others = await run(othersTree(grouped, value_constants))
  const other = {
    breakdown: serializeValue(funnel, OTHER),
    breakdown_value: serializeValue(funnel, OTHER),
  }
  return {
    groups: [...groups, ...others.rows.map((row) => ({ named: other, row: row.slice(1) }))],
    hogql: unionOfLines([hogql, others.hogql], funnel.context),
  }
}

async function queryCohorts(
  funnel: Funnel,
  grouped: GroupedFunnel,
  run: RunTree,
): Promise<GroupedRows> {
  const groups: FunnelGroup[] = []
  const texts: string[] = []
  for (const cohort of funnel.breakdowns?.kind === 'cohorts' ? funnel.breakdowns.cohorts : []) {
    const { rows, hogql } = await run(
      select`select ${grouped.columns} from ${grouped.rows(cohort)}`,
    )
    texts.push(hogql)
    const named = cohortName(funnel, cohort)
    groups.push(...rows.map((row) => ({ named, row })))
  }
  return { groups, hogql: unionOfLines(texts, funnel.context) }
}

function cohortName({ context }: Funnel, cohort: FunnelCohort) {
  if (cohort === 'all') return { breakdown: 'all users', breakdown_value: 0 }
  const known = context.cohorts().find(({ id }) => id === cohort)
  return { breakdown: known?.name ?? String(cohort), breakdown_value: cohort }
}

function firstTree(
  { rows, rank }: GroupRanking,
  columns: readonly Expr[],
  count: number,
): SelectQuery {
  const people = rank.at(-1) ?? constant(1n)
  const tree = select`select breakdown, ${columns} from ${rows('all')} group by breakdown
    having ${people} > 0 order by ${call('tuple', rank)} desc, breakdown asc`
  return { ...tree, limit: integer(count) }
}

function othersTree({ rows, columns }: GroupedFunnel, named: readonly Expr[]): SelectQuery {
  const known = call('array', named)
  return select`select ${[constant(OTHER), ...columns]} from ${rows('all')}
    where ${expr`not has(${known}, ${field(['breakdown'])})`}`
}

/**
 * The condition that an actor is in the group of all values beyond the limit. A value that is spelled like that group's
 * name cannot be told from it and belongs to it.
 */
export async function queryOthers(
  funnel: Funnel,
  ranking: GroupRanking,
  run: RunTree,
): Promise<Expr> {
  const limit = funnel.breakdowns?.kind === 'values' ? funnel.breakdowns.limit : 0
  const { rows } = await run(firstTree(ranking, [], limit))
  const kept = rows.map(([value]) => String(value)).filter((value) => !isOther([value]))
  return expr`not has(${call(
    'array',
    kept.map((value) => constant(value)),
  )}, ${field(['breakdown'])})`
}

/** Whether the values name the group of all values beyond the limit. */
export const isOther = (values: readonly string[]): boolean =>
  values.length === 1 && values[0] === OTHER

/** A value as in answers. */
function nameOf(funnel: Funnel, value: string) {
  const named = serializeValue(funnel, value)
  return { breakdown: named, breakdown_value: named }
}

/** Values of events and persons are lists, as there may be several; a group property is not. */
function serializeValue({ breakdowns }: Funnel, value: string): unknown {
  if (breakdowns?.kind !== 'values') return value
  const [first, ...others] = breakdowns.items
  if (others.length > 0) return value === OTHER ? [OTHER] : JSON.parse(value)
  return first?.type === 'group' && !breakdowns.is_multiple ? value : [value]
}

/** A value of an answer, as in the tree's rows. */
export function findValue({ breakdowns }: Funnel, named: unknown): string {
  const texts = findValues(named)
  const several = breakdowns?.kind === 'values' && breakdowns.items.length > 1
  return several ? JSON.stringify(texts) : (texts[0] ?? '')
}

/** The values of a group as an answer names them, one per breakdown. */
export function findValues(named: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(named) ? named : [named]
  return list.map(String)
}
