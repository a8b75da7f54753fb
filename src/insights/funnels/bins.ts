/** Histogram breakdowns of funnels: bins queried before the funnel, or given by an actors query. */

import { refuseMember } from '../../errors.ts'
import type { RunTree } from '../insight.ts'
import { queryBins } from '../members/bins.ts'
import { edgesOfBin } from '../members/breakdown.ts'
import { eventsOf } from '../members/conditions.ts'
import { funnelCondition } from './actors-tree.ts'
import type { Funnel } from './definition.ts'
import { findValues } from './groups.ts'

/** The funnel with the bin edges of its numeric breakdowns. */
export async function withBins(funnel: Funnel, run: RunTree): Promise<Funnel> {
  const { breakdowns, query } = funnel
  if (breakdowns?.kind !== 'values') return funnel
  const binned = { events: eventsOf(query), condition: funnelCondition(funnel, 'all') }
  const split = await queryBins(breakdowns.items, binned, run)
  return { ...funnel, bins: { edges: split.map(({ edges }) => edges), has_others: false } }
}

/**
 * The funnel with the one bin that a query names; numbers outside of it share one other value. Refuses a text that is
 * no bin, and a missing bin where one is needed.
 */
export function withExplicitBin(funnel: Funnel, named: unknown): Funnel {
  const { breakdowns, attribution } = funnel
  if (breakdowns?.kind !== 'values') return funnel
  const { items } = breakdowns
  const is_named = named !== null && named !== undefined
  const is_binned = items.some(({ bin_count }) => bin_count !== null)
  if (is_binned && !is_named && ['all_events', 'step'].includes(attribution.kind)) {
    const detail = 'It says which bin of the histogram is meant.'
    throw refuseMember(detail, 'query__source__funnelStepBreakdown')
  }
  const values = is_named ? findValues(named) : []
  const edges = items.map(({ bin_count }, index) => {
    const value = values[index] ?? ''
    if (bin_count === null) return null
    return value === '' ? [] : edgesOfBin(value)
  })
  return { ...funnel, bins: { edges, has_others: true } }
}
