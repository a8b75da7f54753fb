/** Series of a query: conditions on their events, labels, and names in answers. */
import type { Series } from '../../contract/insights/parts.ts'
import { refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { and, compare, constant, field, or } from '../../hogql/syntax/nodes.ts'
import { filterCondition } from '../filters/property-filters.ts'
import type { InsightContext } from '../insight.ts'
import { actionCondition, type SavedAction } from './actions.ts'

/** A series with its index in the query. */
export type SeriesAt = { readonly series: Series; readonly index: number }

/**
 * The condition that an event is of the series; an unknown action matches no event. `member` is the
 * query's member that holds the series, for refusals.
 */
export function seriesCondition(
  { series, index }: SeriesAt,
  context: InsightContext,
  member = 'series',
): Expr | null {
  const attr = `query__${member}__${index}`
  const properties = { ...context, prefix: [], attr: `${attr}__properties` }
  const conditions = [
    series.kind === 'GroupNode'
      ? anyOf(series.nodes, context, `${member}__${index}__nodes`)
      : eventCondition(series, context, attr),
    filterCondition(series.properties, properties),
    filterCondition(series.fixedProperties, properties),
  ]
  return and(conditions)
}

/** The condition that an event is of any of several series. */
function anyOf(nodes: readonly Series[], context: InsightContext, member: string): Expr | null {
  const conditions = nodes.map((series, index) =>
    seriesCondition({ series, index }, context, member),
  )
  // A series that matches every event makes the others irrelevant.
  return conditions.includes(null) ? null : or(conditions)
}

function eventCondition(
  series: Exclude<Series, { kind: 'GroupNode' }>,
  context: InsightContext,
  attr: string,
): Expr | null {
  if (series.kind === 'ActionsNode') {
    const action = findAction(series.id, context)
    return action === null
      ? constant(false)
      : actionCondition(action, { ...context, prefix: [], attr })
  }
  const { event } = series
  if (event === null || event === undefined || event === '') return null
  return compare(field(['event']), '==', constant(event))
}

/** A project's action; null when it does not exist (any more). */
export function findAction(id: number, context: InsightContext): SavedAction | null {
  return context.actions().find((action) => action.id === id) ?? null
}

/** Refuses series of unknown actions: a funnel without one of its steps would be another funnel. */
export function requireActions(series: readonly Series[], context: InsightContext): void {
  for (const [index, node] of series.entries()) {
    if (node.kind !== 'ActionsNode' || findAction(node.id, context) !== null) continue
    const detail = `There is no action with ID ${node.id}.`
    throw refuseMember(detail, `query__series__${index}__id`)
  }
}

/** The name of the series' event or action, or of several; null for all events. */
export function seriesEvent(series: Series, context: InsightContext): string | null {
  if (series.kind === 'GroupNode') {
    return series.name || series.nodes.map((node) => seriesLabel(node, context)).join(', ')
  }
  if (series.kind === 'ActionsNode') {
    return findAction(series.id, context)?.name ?? series.name ?? `Action ${series.id}`
  }
  return series.event ? series.event : null
}

/** The member `action` of results, as far as all kinds share it. */
type ActionMember = {
  readonly id: string | number | null
  readonly name: string
  readonly type: 'actions' | 'events'
  readonly order: number
}

/** The `action` of a series' result. */
export function actionOf({ series, index }: SeriesAt, context: InsightContext): ActionMember {
  const name = seriesLabel(series, context)
  if (series.kind === 'ActionsNode') return { id: series.id, name, type: 'actions', order: index }
  if (series.kind === 'GroupNode') return { id: null, name, type: 'events', order: index }
  return { id: series.event ? series.event : null, name, type: 'events', order: index }
}

/** The series at an index. Refuses indexes out of range. */
export function getSeries(series: readonly Series[], index: number): SeriesAt {
  const found = series[index]
  if (found !== undefined) return { series: found, index }
  throw refuseMember(`There is no series ${index}.`, 'query__series')
}

/** The label of the series. */
export function seriesLabel(series: Series, context: InsightContext): string {
  return seriesEvent(series, context) ?? 'All events'
}
