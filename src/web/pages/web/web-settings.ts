/** Settings that all queries of the page share: range, filters, comparison. */
import type { DateRangeValue } from '../../parts/fields/date-range.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'

export type WebSettings = {
  readonly range: DateRangeValue
  readonly filters: readonly PropertyCondition[]
  readonly has_comparison: boolean
  /** Leaves out test traffic by the project's settings: localhost, addresses of the team. */
  readonly hides_tests: boolean
}

/** The members that every web query takes. */
export function webMembers({ range, filters, has_comparison, hides_tests }: WebSettings) {
  return {
    dateRange: range,
    properties: filters,
    filterTestAccounts: hides_tests,
    ...(has_comparison ? { compareFilter: { compare: true } } : {}),
  }
}
