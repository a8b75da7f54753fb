/** ActorsQuery: persons or groups as rows, all of them or the actors behind a number of an insight. */
import type { ActorsQuery, PersonsNode } from '../../contract/insights/actors.ts'
import type { Expr, OrderExpr, SelectQuery } from '../../hogql/syntax/ast.ts'
import { and, field, integer, order } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import {
  groupCondition,
  hasDistinctId,
  personCondition,
  searchGroups,
  searchPersons,
} from '../filters/person-filters.ts'
import type { InsightContext, InsightKind, InsightRows, RunTree } from '../insight.ts'
import { cutToPage, queryPage, readRowPage, serializePage } from '../page.ts'
import {
  type ActorsById,
  actorColumns,
  findGroups,
  findPersons,
  namingProperties,
  objectColumns,
  serializeActor,
} from './actor-columns.ts'
import { type ActorsSourceTree, sourceOf } from './actors-sources.ts'
import {
  arePlain,
  type ColumnWords,
  groupedBy,
  hasAggregate,
  type OutputColumn,
  outputColumns,
  outputOrders,
  outputRows,
} from './shown-columns.ts'

/** Default columns. */
const SHOWN = { person: ['person', 'id', 'person.$delete'], group: ['group'] } as const

/** Maximum rows of a page with whole persons, each of which is looked up. */
const OBJECTS_MAX = 10_000

export const ACTORS_QUERY: InsightKind<ActorsQuery> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  list: async (query, context, run) => {
    const request = await readActorsQuery(query, context, run)
    const { tree, columns } = wholeList(request, context)
    return arePlain(columns) && objectColumns(request.shown).size === 0
      ? { tree: cutToPage(tree, query), columns: request.shown }
      : null
  },
  answer: async (query, context, run) =>
    answerRows(await readActorsQuery(query, context, run), context, run),
}

async function readActorsQuery(
  query: ActorsQuery,
  context: InsightContext,
  run: RunTree,
): Promise<ActorsQueryRequest> {
  const source = query.source ? await sourceOf(query.source, context, run) : null
  const shown = query.select?.length ? query.select : SHOWN[isOfGroups(source) ? 'group' : 'person']
  return { query, shown, source, extra: null }
}

/** PersonsNode: the older form of the same list, with other names for two conditions. */
export const PERSONS_NODE: InsightKind<PersonsNode> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  answer: async ({ cohort, distinctId, ...rest }, context, run) => {
    const conditions = [
      ...(cohort ? [expr`persons.id in cohort ${integer(cohort)}`] : []),
      ...(distinctId ? [hasDistinctId(distinctId, ['persons'])] : []),
    ]
    const query: ActorsQuery = { ...rest, kind: 'ActorsQuery' }
    const request = { query, shown: SHOWN.person, source: null, extra: and(conditions) }
    return await answerRows(request, context, run)
  },
}

type ActorsQueryRequest = {
  readonly query: ActorsQuery
  readonly shown: readonly string[]
  readonly source: ActorsSourceTree | null
  readonly extra: Expr | null
}

const isOfGroups = (source: ActorsSourceTree | null): boolean =>
  (source?.group_type_index ?? null) !== null

async function answerRows(request: ActorsQueryRequest, context: InsightContext, run: RunTree) {
  const { query, source, shown } = request
  const { tree, columns } = wholeList(request, context)
  const objects = objectColumns(shown)
  const rows_max = objects.size > 0 ? Math.min(OBJECTS_MAX, context.rows_max) : context.rows_max
  const page = readRowPage(query, { rows_max })
  const rows = await queryPage(tree, page, { run, rows_max: context.rows_max })
  const found = await findActors(rows, { objects, source, run })
  const known = { actors: found.actors, names: namingProperties(context) }
  const results = outputRows(rows.rows, columns).map((row) =>
    row.map((value, index) => {
      const word = objects.get(index)
      return word === undefined ? value : serializeActor(word, value, known)
    }),
  )
  return {
    results,
    hogql: rows.hogql,
    metadata: {
      ...serializePage(rows, page),
      columns: shown,
      missing_actors_count: found.missing,
    },
  }
}

type ActorsListTree = { readonly tree: SelectQuery; readonly columns: readonly OutputColumn[] }

function wholeList(request: ActorsQueryRequest, context: InsightContext): ActorsListTree {
  const { source, shown } = request
  const id = field(source === null ? ['persons', 'id'] : ['source', source.id])
  const columns = outputColumns(shown, actorColumns(id))
  const conditions = conditionsOf(request, context)
  const tree: SelectQuery = {
    ...selectFrom(
      source,
      columns.map((column) => column.expr),
      id,
    ),
    where: and(conditions.filter((condition) => !hasAggregate(condition))),
    group_by: groupedBy(columns),
    having: and(conditions.filter(hasAggregate)),
    order_by: ordersOf(request, columns, id),
  }
  return { tree, columns }
}

/** Rows of all persons, or of a source's actors, including those without a profile. */
function selectFrom(
  source: ActorsSourceTree | null,
  exprs: readonly Expr[],
  id: Expr,
): SelectQuery {
  if (source === null) return select`select ${exprs} from persons`
  const { tree, group_type_index } = source
  if (group_type_index !== null) {
    return select`select ${exprs} from ${tree} as source
      left join groups on groups.index = ${integer(group_type_index)} and groups.key = ${id}`
  }
  // In a caller's query the id may be a text.
  const person = source.is_ours ? id : expr`toUUIDOrNull(toString(${id}))`
  return select`select ${exprs} from ${tree} as source left join persons on persons.id = ${person}`
}

function conditionsOf(
  { query, source, extra }: ActorsQueryRequest,
  context: InsightContext,
): readonly Expr[] {
  const groups = isOfGroups(source)
  const prefix = [groups ? 'groups' : 'persons']
  const filter = { ...context, prefix }
  const narrowed = groups ? groupCondition : personCondition
  const search = query.search?.trim() ?? ''
  const conditions = [
    narrowed(query.properties, { ...filter, attr: 'query__properties' }),
    narrowed(query.fixedProperties, { ...filter, attr: 'query__fixedProperties' }),
    search === '' ? null : groups ? searchGroups(search, prefix) : searchPersons(search, prefix),
    extra,
  ]
  return conditions.filter((condition) => condition !== null)
}

/**
 * The query's orders; by default aggregates, the largest first, else the newest actors where their creation is shown,
 * else the first column; finally by id, so that pages are stable.
 */
function ordersOf(
  request: ActorsQueryRequest,
  columns: readonly OutputColumn[],
  id: Expr,
): readonly OrderExpr[] {
  const { orderBy } = request.query
  if (orderBy && orderBy.length > 0) {
    return outputOrders(orderBy, orderColumns(request, id))
  }
  const aggregates = columns.filter(({ has_aggregate }) => has_aggregate)
  const counted = aggregates.find(({ name }) => name === 'count()') ?? aggregates[0]
  if (counted !== undefined) return [order(withoutAlias(counted.expr), 'DESC')]
  const newest = columns.find(({ name }) => name === 'created_at')
  if (newest !== undefined) return [order(newest.expr, 'DESC'), order(id)]
  const first = columns.find((column) => column.expr.kind !== 'Constant')
  const is_id = first === undefined || objectColumns([first.name]).size > 0
  return is_id ? [order(id)] : [order(withoutAlias(first.expr)), order(id)]
}

const withoutAlias = (column: Expr): Expr => (column.kind === 'Alias' ? column.expr : column)

/** Whole persons are ordered by their email, whole groups by their name. */
function orderColumns({ source }: ActorsQueryRequest, id: Expr): ColumnWords {
  const owner = isOfGroups(source) ? 'groups' : 'persons'
  const of_property = (name: string) => ({
    expr: field([owner, 'properties', name]),
    read: (value: unknown) => value,
  })
  return { ...actorColumns(id), person: of_property('email'), group: of_property('name') }
}

type ActorLookup = {
  readonly objects: ReadonlyMap<number, string>
  readonly source: ActorsSourceTree | null
  readonly run: RunTree
}

/** Looks up the actors of a page that are shown as objects, and counts those without a profile. */
async function findActors(
  { rows }: InsightRows,
  { objects, source, run }: ActorLookup,
): Promise<{ readonly actors: ActorsById; readonly missing: number }> {
  const [first] = objects.keys()
  if (first === undefined) return { actors: new Map(), missing: 0 }
  const ids = [...new Set(rows.map((row) => String(row[first])))]
  const group_type_index = source?.group_type_index ?? null
  const actors =
    group_type_index === null
      ? await findPersons(ids, run)
      : await findGroups(ids, group_type_index, run)
  return { actors, missing: ids.filter((id) => !actors.has(id)).length }
}
