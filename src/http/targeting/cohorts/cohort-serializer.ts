/** Serializes cohorts, and filters lists of them. */
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { isShown, rightsIn } from '../../../projects/rights/rights.ts'
import { hasBehavior } from '../../../targeting/cohorts/behavior.ts'
import type { CohortRow } from '../../../targeting/cohorts/cohort.ts'
import type { Calculation } from '../../../targeting/cohorts/cohort-history.ts'
import { listExperimentHeads } from '../../../targeting/experiments/experiment.ts'
import { queryValue, readSearch } from '../../answers/pages.ts'
import type { AppContext } from '../../app-context.ts'
import { authorFinder, type FindAuthor } from '../../callers/authors.ts'
import type { ShownTo } from '../flags/linked-flags.ts'

/** FILTERS of a list of cohorts. */
export function filterCohorts(
  cohorts: readonly CohortRow[],
  request: Request,
): readonly CohortRow[] {
  const search = readSearch(request).toLowerCase()
  const type = queryValue(request, 'type') ?? ''
  const authors = new Set(queryValue(request, 'created_by_id')?.split(',').filter(Boolean))
  const is_plain = isYes(queryValue(request, 'hide_behavioral_cohorts'))
  return cohorts.filter(
    (cohort) =>
      (cohort.name ?? '').toLowerCase().includes(search) &&
      (type === '' || (type === 'static') === cohort.is_static) &&
      (authors.size === 0 || authors.has(String(cohort.created_by))) &&
      !(is_plain && cohortType(cohort) === 'behavioral'),
  )
}

function cohortType({ is_static, filters }: CohortRow): string {
  if (is_static) return 'static'
  return hasBehavior(filters) ? 'behavioral' : 'person_property'
}

/** Returns a function that serializes cohorts of one project during one request. */
export function cohortSerializer(app: AppContext, to: ShownTo): (cohort: CohortRow) => object {
  const nameAuthor = authorFinder(app)
  const showCount = countGuard(app, to)
  const exposing = Map.groupBy(
    listExperimentHeads(app.control, to.project.id),
    ({ exposure_cohort_id }) => exposure_cohort_id,
  )
  return (cohort) => ({
    ...serializeCohort(showCount(cohort), nameAuthor),
    experiment_set: (exposing.get(cohort.id) ?? []).map(({ id }) => id),
  })
}

/** Returns a function that serializes the calculations of a cohort during one request. */
export function calculationSerializer(
  app: AppContext,
  to: ShownTo,
): (calculation: Calculation) => object {
  const showCount = countGuard(app, to)
  return (calculation) => {
    const { cohort_id: _cohort, ...members } = showCount(calculation)
    const { started_at, finished_at, error } = members
    return {
      ...members,
      total_query_ms: finished_at === null ? null : finished_at.getTime() - started_at.getTime(),
      is_completed: finished_at !== null,
      is_successful: finished_at !== null && error === null,
    }
  }
}

/** Returns a function that takes the number of persons away where the caller may not see persons. */
function countGuard(
  { control }: AppContext,
  { caller, project }: ShownTo,
): <Counted extends { readonly count: number | null }>(counted: Counted) => Counted {
  const is_shown = isShown(rightsIn(control, caller, project), 'cohort.count')
  return (counted) => (is_shown ? counted : { ...counted, count: null })
}

/** Serializes a cohort as part of another answer: without the experiments whose exposed persons it contains. */
export function serializeCohort(cohort: CohortRow, nameAuthor: FindAuthor): object {
  const { project_id: _project, version, calculated_version, ...stored } = cohort
  return {
    ...stored,
    // True from the change until the calculation ends, waiting included.
    is_calculating: stored.is_calculating || (!stored.is_static && version !== calculated_version),
    groups: [],
    cohort_type: cohortType(cohort),
    created_by: nameAuthor(cohort.created_by),
    experiment_set: [],
  }
}
