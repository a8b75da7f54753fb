/** ActorsQuery: persons or groups as rows, all of them or those behind a number (wire §5.8). */
import type { ActorsQuery, PersonsNode } from '../../contract/insights/actors.ts'
import type { Expr, SelectQuery } from '../../hogql/ast.ts'
import type { OrderExpr } from '../../hogql/ast-parts.ts'
import { and, constant, field, order } from '../../hogql/nodes.ts'
import {
  foundGroups,
  foundPersons,
  groupCondition,
  hasDistinctId,
  personCondition,
} from '../filters/person-filters.ts'
import type { AskedRows, AskRows, InsightContext, InsightKind } from '../insight.ts'
import { asFarAsAsked, askPage, pageOf, saidOfPage } from '../page.ts'
import { expr, select } from '../tree.ts'
import {
  actorWords,
  type Found,
  findGroups,
  findPersons,
  objectColumns,
  shownActor,
} from './actor-words.ts'
import { type Source, sourceOf } from './actors-sources.ts'
import {
  arePlain,
  gatheredBy,
  type ShownColumn,
  shownColumns,
  shownOrders,
  shownRows,
} from './shown-columns.ts'

/** What is shown of persons and of groups where nobody says. */
const SHOWN = { person: ['person', 'id', 'person.$delete'], group: ['group'] } as const

/** The most rows of a page that shows whole persons: each is looked up. */
const OBJECTS_MAX = 10_000

export const ACTORS_QUERY: InsightKind<ActorsQuery> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  list: async (question, context, ask) => {
    const asked = await readAsked(question, context, ask)
    const { tree, columns } = wholeList(asked, context)
    return arePlain(columns) && objectColumns(asked.shown).size === 0
      ? { tree: asFarAsAsked(tree, question), columns: asked.shown }
      : null
  },
  answer: async (question, context, ask) =>
    answerRows(await readAsked(question, context, ask), context, ask),
}

async function readAsked(
  question: ActorsQuery,
  context: InsightContext,
  ask: AskRows,
): Promise<Asked> {
  const source = question.source ? await sourceOf(question.source, context, ask) : null
  const shown = question.select?.length
    ? question.select
    : SHOWN[isOfGroups(source) ? 'group' : 'person']
  return { question, shown, source, extra: null }
}

/** The older form: the same list with its own names for two conditions. */
export const PERSONS_NODE: InsightKind<PersonsNode> = {
  rangeOf: () => ({ interval: 'minute', ends_at_ms: null }),
  answer: async ({ cohort, distinctId, ...rest }, context, ask) => {
    const conditions = [
      ...(cohort ? [expr`persons.id in cohort ${constant(BigInt(cohort))}`] : []),
      ...(distinctId ? [hasDistinctId(distinctId, ['persons'])] : []),
    ]
    const question: ActorsQuery = { ...rest, kind: 'ActorsQuery' }
    const asked = { question, shown: SHOWN.person, source: null, extra: and(conditions) }
    return await answerRows(asked, context, ask)
  },
}

type Asked = {
  readonly question: ActorsQuery
  readonly shown: readonly string[]
  readonly source: Source | null
  readonly extra: Expr | null
}

const isOfGroups = (source: Source | null): boolean => (source?.group_type_index ?? null) !== null

async function answerRows(asked: Asked, context: InsightContext, ask: AskRows) {
  const { question, source, shown } = asked
  const { tree, columns } = wholeList(asked, context)
  const objects = objectColumns(shown)
  const rows_max = objects.size > 0 ? Math.min(OBJECTS_MAX, context.rows_max) : context.rows_max
  const page = pageOf(question, { rows_max })
  const rows = await askPage(tree, page, { ask, rows_max: context.rows_max })
  const found = await findActors(rows, { objects, source, ask })
  const results = shownRows(rows.rows, columns).map((row) =>
    row.map((value, index) => {
      const word = objects.get(index)
      return word === undefined ? value : shownActor(word, value, found.actors)
    }),
  )
  return {
    results,
    hogql: rows.hogql,
    said: {
      ...saidOfPage(rows, page),
      columns: shown,
      missing_actors_count: found.missing,
    },
  }
}

type Listed = { readonly tree: SelectQuery; readonly columns: readonly ShownColumn[] }

function wholeList(asked: Asked, context: InsightContext): Listed {
  const { source, shown } = asked
  const id = field(source === null ? ['persons', 'id'] : ['source', source.id])
  const columns = shownColumns(shown, actorWords(id), 'query__select')
  const tree: SelectQuery = {
    ...selectFrom(
      source,
      columns.map((column) => column.expr),
      id,
    ),
    where: and(conditionsOf(asked, context)),
    group_by: gatheredBy(columns),
    order_by: ordersOf(asked, columns, id),
  }
  return { tree, columns }
}

/** The columns of all persons, or of a source's actors, also of those without a profile. */
function selectFrom(source: Source | null, exprs: readonly Expr[], id: Expr): SelectQuery {
  if (source === null) return select`select ${exprs} from persons`
  const { tree, group_type_index } = source
  if (group_type_index !== null) {
    return select`select ${exprs} from ${tree} as source
      left join groups on groups.index = ${constant(BigInt(group_type_index))} and groups.key = ${id}`
  }
  // Who writes a question may have made a text of the id.
  const person = source.is_ours ? id : expr`toUUIDOrNull(toString(${id}))`
  return select`select ${exprs} from ${tree} as source left join persons on persons.id = ${person}`
}

function conditionsOf(
  { question, source, extra }: Asked,
  context: InsightContext,
): readonly Expr[] {
  const groups = isOfGroups(source)
  const prefix = [groups ? 'groups' : 'persons']
  const filter = { ...context, prefix }
  const narrowed = groups ? groupCondition : personCondition
  const search = question.search?.trim() ?? ''
  const conditions = [
    narrowed(question.properties, { ...filter, attr: 'query__properties' }),
    narrowed(question.fixedProperties, { ...filter, attr: 'query__fixedProperties' }),
    search === '' ? null : groups ? foundGroups(search, prefix) : foundPersons(search, prefix),
    extra,
  ]
  return conditions.filter((condition) => condition !== null)
}

/** As asked; else what was gathered, the most first, or as the source says, and last by id so that pages fit together. */
function ordersOf(
  { question, source }: Asked,
  columns: readonly ShownColumn[],
  id: Expr,
): readonly OrderExpr[] {
  const { orderBy } = question
  if (orderBy && orderBy.length > 0) return shownOrders(orderBy, actorWords(id), 'query__orderBy')
  const gathered = columns.find(({ gathers }) => gathers)
  if (gathered !== undefined) return [order(gathered.expr, 'DESC')]
  if (source === null) return [order(field(['persons', 'created_at']), 'DESC'), order(id)]
  return [...source.orders, order(id)]
}

type Looked = {
  readonly objects: ReadonlyMap<number, string>
  readonly source: Source | null
  readonly ask: AskRows
}

/** Looks up the actors of a page that are shown whole, and counts those without a profile. */
async function findActors(
  { rows }: AskedRows,
  { objects, source, ask }: Looked,
): Promise<{ readonly actors: Found; readonly missing: number }> {
  const [first] = objects.keys()
  if (first === undefined) return { actors: new Map(), missing: 0 }
  const ids = [...new Set(rows.map((row) => String(row[first])))]
  const group_type_index = source?.group_type_index ?? null
  const actors =
    group_type_index === null
      ? await findPersons(ids, ask)
      : await findGroups(ids, group_type_index, ask)
  return { actors, missing: ids.filter((id) => !actors.has(id)).length }
}
