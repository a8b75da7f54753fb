/** A number of a chart that was clicked: what it is, and the question for the persons behind it. */
import type { AnyQuery } from '../../api/ask.ts'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { isEmptyValue, isOther } from './answers.ts'
import type { ExploreQuestion } from './question.ts'

export type ClickedNumber = {
  /** The heading of the dialog: `Page view · 16 Nov`. */
  readonly title: string
  readonly value: number
  /** Conditions that keep only what the number counts, where it is one value of a breakdown. */
  readonly filters?: readonly PropertyCondition[]
  /** The question for who is behind it; missing where it counts nobody in particular, as a formula. */
  readonly source?: AnyQuery
}

/** The coordinates of a number of TrendsQuery, LifecycleQuery, StickinessQuery, RetentionQuery or PathsQuery. */
export function actorsSource(
  question: ExploreQuestion,
  point: Readonly<Record<string, unknown>>,
): AnyQuery {
  const kind = question.kind === 'StickinessQuery' ? 'StickinessActorsQuery' : 'InsightActorsQuery'
  return { kind, source: question, ...point }
}

/** The coordinates of a number of a funnel: a positive step for those who got there, a negative one for those who did not. */
export function funnelActorsSource(
  question: ExploreQuestion,
  point: Readonly<Record<string, unknown>>,
): AnyQuery {
  return { kind: 'FunnelsActorsQuery', source: question, ...point }
}

/** The conditions of one value of the question's breakdowns; none where they cannot say it. */
export function breakdownFilters(
  { breakdownFilter }: ExploreQuestion,
  value: unknown,
): readonly PropertyCondition[] {
  const breakdowns = breakdownFilter?.breakdowns ?? []
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (value === undefined || isOther(value)) return []
  return breakdowns.flatMap(({ property, type, group_type_index }, index): PropertyCondition[] => {
    const one = values[index]
    if (type === 'cohort')
      return property === 'all'
        ? []
        : [{ type, key: 'id', operator: 'in', value: Number(property) }]
    const owner = OWNERS.find((known) => known === type)
    if (owner === undefined) return []
    const named = {
      type: owner,
      key: String(property),
      ...(typeof group_type_index === 'number' && { group_type_index }),
    }
    if (isEmptyValue(one)) return [{ ...named, operator: 'is_not_set' }]
    return [{ ...named, operator: 'exact', value: [String(one)] }]
  })
}

const OWNERS = ['event', 'person', 'group', 'session'] as const
