/** Path items: an event's page, screen, name or custom expression, cleaned and grouped. */
import type { PathsFilter, PathsQuery } from '../../contract/insights/paths.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { call, compare, constant, field, or } from '../../hogql/syntax/nodes.ts'
import { expr } from '../../hogql/template.ts'
import { cleanPath } from '../filters/path-cleaning.ts'
import type { InsightContext } from '../insight.ts'
import { readExpression } from '../members/expression.ts'

const FILTER = 'query__pathsFilter'
const isEvent = (name: string): Expr => compare(field(['event']), '==', constant(name))

/** The item of an event; never null. */
export function pathItem({ pathsFilter }: PathsQuery, context: InsightContext): Expr {
  const item = groupItem(cleanItem(rawItem(pathsFilter), pathsFilter, context), pathsFilter)
  return expr`ifNull(${item}, '')`
}

function rawItem(filter: PathsFilter): Expr {
  const { pathsHogQLExpression: text } = filter
  let item: Expr = field(['event'])
  if (text && isIncluded(filter, 'hogql')) {
    const written = readExpression(text, `${FILTER}__pathsHogQLExpression`)
    item = expr`toString(${written})`
  }
  if (isIncluded(filter, '$pageview')) {
    const url = expr`replaceRegexpOne(ifNull(toString(properties.$current_url), ''), '(.)/$', '\\\\1')`
    item = expr`if(${isEvent('$pageview')}, ${url}, ${item})`
  }
  if (isIncluded(filter, '$screen')) {
    item = expr`if(${isEvent('$screen')}, toString(properties.$screen_name), ${item})`
  }
  return expr`ifNull(${item}, '')`
}

type EventType = NonNullable<PathsFilter['includeEventTypes']>[number]

/** Without a choice all event types but the excluded ones are included. */
function isIncluded({ includeEventTypes, excludeEvents }: PathsFilter, type: EventType): boolean {
  if (!includeEventTypes?.length) return excludeEvents?.includes(type) !== true
  return includeEventTypes.includes(type)
}

/** Applies the project's cleaning rules, if requested, then the query's own. */
function cleanItem(item: Expr, filter: PathsFilter, context: InsightContext): Expr {
  const of_project =
    filter.pathReplacements === true
      ? cleanPath(item, context.path_cleaning_filters, 'path_cleaning_filters')
      : item
  const rules = filter.localPathCleaningFilters ?? []
  if (rules.length === 0) return of_project
  return cleanPath(of_project, rules, `${FILTER}__localPathCleaningFilters`)
}

/** An item that matches groupings gets the name of the first. */
function groupItem(item: Expr, { pathGroupings }: PathsFilter): Expr {
  if (!pathGroupings?.length) return item
  const cases = pathGroupings.flatMap((glob) => [
    call('match', [item, constant(globPattern(glob))]),
    constant(glob),
  ])
  return call('multiIf', [...cases, item])
}

/** `/user/*` as a regular expression. */
export function globPattern(glob: string): string {
  return glob.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll('*', '.*')
}

/** The condition that an event is part of a path, by its name; null where all are. */
export function isPathEvent({ pathsFilter }: PathsQuery): Expr | null {
  const types = pathsFilter.includeEventTypes ?? []
  const conditions = types.flatMap((type) => TYPES[type] ?? [])
  return or(conditions)
}

/** A line per event type; `hogql` alone includes all events. */
const TYPES: Readonly<Record<EventType, Expr | null>> = {
  $pageview: isEvent('$pageview'),
  $screen: isEvent('$screen'),
  custom_event: expr`not startsWith(event, '$')`,
  hogql: null,
}

/** A point of a path as items are spelled: without a trailing slash. */
export function pathPoint(point: string | null | undefined): string | null {
  if (!point) return null
  return point.length > 1 && point.endsWith('/') ? point.slice(0, -1) : point
}
