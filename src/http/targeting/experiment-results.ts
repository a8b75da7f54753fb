/** What came of an experiment, metric by metric (wire §4.10): exposures from `$feature_flag_called`, Bayesian results. */
import { ExposuresAnswer, ResultsAnswer } from '../../contract/experiment-results.ts'
import { Refusal } from '../../errors.ts'
import { figuresIn } from '../../insights/experiments/comparison.ts'
import { exposuresTree, type Trial } from '../../insights/experiments/exposure.ts'
import { trialOf } from '../../insights/experiments/known.ts'
import { methodOf } from '../../insights/experiments/method.ts'
import { readMetric, savedMetrics } from '../../insights/experiments/metric.ts'
import { resultOf } from '../../insights/experiments/results.ts'
import { metricTree } from '../../insights/experiments/trees.ts'
import type { InsightContext } from '../../insights/insight.ts'
import type { Project } from '../../projects/project.ts'
import { listActions } from '../../targeting/action.ts'
import { type Experiment, getPresentExperiment } from '../../targeting/experiment.ts'
import { isSecondary, listLinks } from '../../targeting/experiment-metrics.ts'
import { getFlag } from '../../targeting/flag.ts'
import { listNamedCohorts } from '../../targeting/named-cohorts.ts'
import { nameExperiment } from '../../targeting/named-experiments.ts'
import { uuidOf } from '../../targeting/saved-metric.ts'
import { answerJson } from '../answers.ts'
import type { Params } from '../endpoint.ts'
import { numberIn } from '../ids.ts'
import type { Needs } from '../needs.ts'
import { type Asked, askTree } from '../questions/trees.ts'
import { projectRoute } from '../route.ts'
import { METRICS_MAX } from './experiment-wire.ts'

export const EXPERIMENT_RESULT_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/exposures/',
    scope: 'experiment:read',
    says: 'Count the people who have been shown each variant.',
    answers: { 200: ExposuresAnswer },
    answer: async (needs, asked) => {
      const { trial } = testedIn(needs, asked)
      const total_exposures = await askExposures(needs, asked, trial)
      return answerJson({ total_exposures, date_range: datesOf(trial) })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiments/:id/results/',
    scope: 'experiment:read',
    says: 'Read what came of an experiment: by metric and variant, with credible intervals and a verdict.',
    answers: { 200: ResultsAnswer },
    answer: async (needs, asked) => {
      const { experiment, ...tested } = testedIn(needs, asked)
      const { first, second } = metricsOf(needs, experiment)
      return answerJson({
        exposures: await askExposures(needs, asked, tested.trial),
        date_range: datesOf(tested.trial),
        metrics: await resultsOf(needs, asked, tested, first),
        secondary_metrics: await resultsOf(needs, asked, tested, second),
        method: methodOf(tested.trial.settings),
      })
    },
  }),
] as const

/** The metrics of an experiment in the order they are shown, with those that it shares. */
export function metricsOf(needs: Needs, experiment: Experiment) {
  const { id, project_id, metrics, secondary_metrics, filters } = experiment
  const links = listLinks(needs.control, project_id).get(id) ?? []
  const shared = (is_second: boolean): readonly unknown[] =>
    links
      .filter((link) => isSecondary(link) === is_second)
      .map(({ metric: { name, query } }) => ({ name, ...(query as object) }))
  const { primary_metrics_ordered_uuids, secondary_metrics_ordered_uuids } = experiment
  return {
    first: ordered(
      [...savedMetrics(metrics, filters), ...shared(false)],
      primary_metrics_ordered_uuids,
    ),
    second: ordered(
      [...savedMetrics(secondary_metrics, null), ...shared(true)],
      secondary_metrics_ordered_uuids,
    ),
  }
}

/** What the order does not name stays where it is, behind. */
function ordered(metrics: readonly unknown[], order: unknown): readonly unknown[] {
  const uuids: readonly unknown[] = Array.isArray(order) ? order : []
  const placeOf = (metric: unknown): number => {
    const place = uuids.indexOf(uuidOf(metric))
    return place < 0 ? uuids.length : place
  }
  return metrics.toSorted((a, b) => placeOf(a) - placeOf(b))
}

type Tested = { readonly trial: Trial }

export type AskedInPath = Asked & { readonly params: Params }

/** The experiment in the path. Refuses one that has not begun. */
export function testedIn(
  needs: Needs,
  { params, project }: AskedInPath,
): Tested & { readonly experiment: Experiment } {
  const experiment = getPresentExperiment(needs.control, project.id, numberIn(params))
  const flag = getFlag(needs.control, project.id, experiment.feature_flag_id)
  const trial = trialOf(nameExperiment(experiment, flag), needs.now(), 'start_date')
  return { experiment, trial }
}

/** People by the variant they were shown. */
async function askExposures(needs: Needs, asked: Asked, trial: Trial): Promise<object> {
  const tree = exposuresTree(trial, contextOf(needs, asked.project))
  const { rows } = await askTree(needs, asked, 'experiments/exposures', tree)
  return Object.fromEntries(rows.map(([key, people]) => [String(key), people]))
}

function datesOf({ from, to }: Trial): object {
  return { date_from: from.toISOString(), date_to: to.toISOString() }
}

/** What a result is called when its metric cannot be read. */
function namesOf(metric: unknown): {
  readonly name: string | null
  readonly uuid: string | null
} {
  const { name, uuid } = (metric ?? {}) as { readonly name?: unknown; readonly uuid?: unknown }
  return {
    name: typeof name === 'string' ? name : null,
    uuid: typeof uuid === 'string' ? uuid : null,
  }
}

/** The refusals of one metric, which say nothing of the others. */
const TOLD_IN_PLACE: ReadonlySet<string> = new Set(['invalid_input', 'permission_denied'])

/** One after the other: each is a question of its own, and one that cannot be asked says why. */
async function resultsOf(
  needs: Needs,
  asked: Asked,
  { trial }: Tested,
  metrics: readonly unknown[],
): Promise<readonly object[]> {
  const results: object[] = []
  for (const saved of metrics.slice(0, METRICS_MAX)) {
    try {
      const metric = readMetric(saved, 'metrics')
      const question = metricTree(metric, trial, contextOf(needs, asked.project))
      const { rows } = await askTree(needs, asked, `experiments/${metric.model}`, question)
      results.push(resultOf(metric, figuresIn(metric, trial, rows), trial.settings))
    } catch (error) {
      if (!(error instanceof Refusal) || !TOLD_IN_PLACE.has(error.code)) throw error
      results.push({ ...namesOf(saved), error: error.detail })
    }
  }
  return results
}

/** What is known about the data of a project that an experiment is asked about. */
export function contextOf(needs: Needs, project: Project): InsightContext {
  return {
    project_id: project.id,
    timezone: project.timezone,
    week_start_day: project.week_start_day === 1 ? 1 : 0,
    now: needs.now(),
    property_types: needs.definitions.propertyTypes(project.id),
    test_account_filters: project.test_account_filters ?? [],
    actions: listActions(needs.control, project.id),
    cohorts: listNamedCohorts(needs.control, project.id),
    experiments: [],
    rows_max: needs.query_limits.rows_max,
  }
}
