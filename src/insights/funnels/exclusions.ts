/** Exclusions of a funnel: events that break it between two steps. */
import type { FunnelExclusion, FunnelsQuery } from '../../contract/insights/funnels.ts'
import type { Series } from '../../contract/insights/parts.ts'
import { type Refusal, refuseMember } from '../../errors.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { constant, or } from '../../hogql/syntax/nodes.ts'
import type { InsightContext } from '../insight.ts'
import { seriesCondition } from '../members/series.ts'

const MEMBER = 'funnelsFilter__exclusions'

/**
 * For each step but the last, the condition of an exclusion after it; empty without exclusions.
 * Refuses steps that do not exist, a step's own event, and in unordered funnels exclusions of only
 * a part.
 */
export function readExclusions(query: FunnelsQuery, context: InsightContext): readonly Expr[] {
  const exclusions = query.funnelsFilter?.exclusions ?? []
  if (exclusions.length === 0) return []
  const conditions = exclusions.map((exclusion, index) => {
    requireFits(exclusion, index, query)
    return seriesCondition({ series: exclusion, index }, context, MEMBER) ?? constant(true)
  })
  return query.series.slice(1).map((_, step) => {
    const forbidding = conditions.filter((__, index) => {
      const { funnelFromStep = 0, funnelToStep = 0 } = exclusions[index] ?? {}
      return funnelFromStep <= step && step < funnelToStep
    })
    return or(forbidding) ?? constant(false)
  })
}

function requireFits(exclusion: FunnelExclusion, index: number, query: FunnelsQuery): void {
  const { funnelFromStep: from, funnelToStep: to } = exclusion
  const last = query.series.length - 1
  const refuse = (detail: string, member: string): Refusal =>
    refuseMember(detail, `query__${MEMBER}__${index}${member}`)
  if (to <= from) {
    const detail = 'Exclusion event range is invalid. End of range should be greater than start.'
    throw refuse(detail, '__funnelToStep')
  }
  if (to > last) {
    const detail = 'Exclusion event range is invalid. End of range is greater than number of steps.'
    throw refuse(detail, '__funnelToStep')
  }
  const is_whole = from === 0 && to === last
  if (query.funnelsFilter?.funnelOrderType === 'unordered' && !is_whole) {
    throw refuse('Partial Exclusions not allowed in unordered funnels', '__funnelFromStep')
  }
  if (query.series.slice(from, to + 1).some((step) => includesEvery(exclusion, step))) {
    throw refuse("Exclusion steps cannot contain an event that's part of funnel steps.", '')
  }
}

/** Whether every event of the step is also one of the exclusion, as far as names tell. */
function includesEvery(exclusion: Series, step: Series): boolean {
  if (hasFilters(exclusion)) return false
  if (exclusion.kind === 'ActionsNode') {
    return step.kind === 'ActionsNode' && step.id === exclusion.id
  }
  if (!exclusion.event) return true
  return step.kind === 'EventsNode' && step.event === exclusion.event
}

function hasFilters({ properties, fixedProperties }: Series): boolean {
  return [properties, fixedProperties].some((filters) =>
    Array.isArray(filters) ? filters.length > 0 : Boolean(filters),
  )
}
