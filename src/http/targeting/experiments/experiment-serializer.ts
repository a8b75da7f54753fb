/** Serializes experiments, and reads bodies of experiments. */

import type { Static } from 'elysia'
import type { ExperimentChange } from '../../../contract/targeting/experiments.ts'
import { changedMembers } from '../../../dashboards/board-editor.ts'
import { getNamed, Refusal } from '../../../errors.ts'
import { readMetric } from '../../../insights/experiments/metric.ts'
import { readSettings } from '../../../insights/experiments/settings.ts'
import { readCriteria } from '../../../insights/experiments/trees/exposure.ts'
import { isObject } from '../../../json.ts'
import type { Json } from '../../../projects/tables.ts'
import { listActionNames } from '../../../targeting/action.ts'
import { getCohort } from '../../../targeting/cohorts/cohort.ts'
import type { Experiment, ExperimentChanges } from '../../../targeting/experiments/experiment.ts'
import { statusOfExperiment } from '../../../targeting/experiments/experiment-lifecycle.ts'
import {
  listLinks,
  type MetricLink,
  type MetricLinkRequest,
} from '../../../targeting/experiments/experiment-metrics.ts'
import { findHoldout, getHoldout } from '../../../targeting/experiments/holdout.ts'
import { getFlag } from '../../../targeting/flags/flag.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { parseTimestamp } from '../../bodies/timestamps.ts'
import { authorFinder } from '../../callers/authors.ts'
import { linkedFlags, type ShownTo } from '../flags/linked-flags.ts'
import { flagParameters, shownParameters } from './experiment-flag-settings.ts'

/** The most metrics of one kind; each is a query. */
export const METRICS_MAX = 50

/** Creates a serializer; it reads linked objects of a project once for all experiments. */
export function experimentSerializer(
  app: AppContext,
  to: ShownTo,
): (experiment: Experiment) => object {
  const project_id = to.project.id
  const nameAuthor = authorFinder(app)
  const flags = linkedFlags(app, to)
  return (experiment) => {
    const { project_id: _project, feature_flag_id, exposure_cohort_id, ...stored } = experiment
    const flag = getFlag(app.control, project_id, feature_flag_id)
    const metric_links = listLinks(app.control, experiment)
    const linked_flag = flags(feature_flag_id)
    return {
      ...stored,
      parameters: shownParameters(stored.parameters, linked_flag),
      ...newerMembers(stored.parameters),
      metrics: withFingerprints(experiment, stored.metrics),
      secondary_metrics: withFingerprints(experiment, stored.secondary_metrics),
      metrics_secondary: withFingerprints(experiment, stored.secondary_metrics),
      saved_metrics: metric_links.map((link) => linkOnWire(experiment, link)),
      saved_metrics_ids: metric_links.map(({ metric: { id }, metadata }) => ({ id, metadata })),
      status: statusOfExperiment({ experiment, flag }),
      feature_flag: linked_flag,
      feature_flag_key: flag.key,
      holdout: findHoldout(app.control, project_id, stored.holdout_id),
      exposure_cohort: exposure_cohort_id,
      created_by: nameAuthor(experiment.created_by),
    }
  }
}

function linkOnWire(
  experiment: Experiment,
  { id, experiment_id, metadata, created_at, metric }: MetricLink,
): object {
  return {
    id,
    experiment: experiment_id,
    saved_metric: metric.id,
    metadata,
    created_at,
    name: metric.name,
    query: withFingerprint(experiment, metric.query),
  }
}

function withFingerprints(experiment: Experiment, metrics: Json): Json {
  return Array.isArray(metrics) ? metrics.map((metric) => withFingerprint(experiment, metric)) : []
}

/** Adds a fingerprint to a metric: a hash of everything its results depend on. */
function withFingerprint(
  { start_date, stats_config, exposure_criteria }: Experiment,
  metric: Json,
): Json {
  if (!isObject(metric)) return metric
  const { uuid: _uuid, name: _name, fingerprint: _print, ...meaning } = metric
  const text = JSON.stringify([meaning, start_date, stats_config, exposure_criteria])
  const hash = new Bun.CryptoHasher('sha256').update(text)
  return { ...metric, fingerprint: hash.digest('hex') }
}

/**
 * Returns the body without newer names that have the values of the answer: where a script sends an answer back that it has
 * changed, the older names would be overruled by their echo.
 */
export function withoutEchoes(
  shown: object,
  body: Static<typeof ExperimentChange>,
): Static<typeof ExperimentChange> {
  const changed = new Set(Object.keys(changedMembers(shown, body)))
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => changed.has(name) || !NEWER_NAMES.has(name)),
  )
}

const NEWER_NAMES: ReadonlySet<string> = new Set([
  'excluded_variants',
  'metrics_secondary',
  'running_time_calculation',
])

const MISSING = 'Object does not exist.'

/** Reads the stored members from a body. Refuses references to missing objects, and invalid values. */
export function readExperimentChanges(
  app: AppContext,
  project_id: number,
  body: Static<typeof ExperimentChange>,
): ExperimentChanges {
  const { holdout_id, exposure_cohort, exposure_criteria, stats_config } = body
  if (typeof holdout_id === 'number') {
    getNamed(() => getHoldout(app.control, project_id, holdout_id), 'holdout_id', MISSING)
  }
  if (typeof exposure_cohort === 'number') {
    getNamed(() => getCohort(app.control, project_id, exposure_cohort), 'exposure_cohort', MISSING)
  }
  readCriteria(exposure_criteria, 'exposure_criteria')
  readSettings(stats_config, 'stats_config')
  const secondary = body.metrics_secondary ?? body.secondary_metrics ?? undefined
  const secondary_attr = Array.isArray(body.metrics_secondary)
    ? 'metrics_secondary'
    : 'secondary_metrics'
  requireMetrics(app, project_id, body.metrics ?? [], 'metrics')
  requireMetrics(app, project_id, secondary ?? [], secondary_attr)
  const wanted = {
    name: body.name,
    description: body.description,
    type: body.type ?? undefined,
    start_date: parseTimestamp(body.start_date, 'start_date'),
    end_date: parseTimestamp(body.end_date, 'end_date'),
    parameters: parametersIn(body.parameters ?? undefined),
    own_parameters: ownParameters(body),
    flag_parameters: parametersIn(flagParameters(body.feature_flag)),
    filters: body.filters ?? undefined,
    metrics: body.metrics ?? undefined,
    secondary_metrics: secondary,
    saved_metrics: linksIn(body.saved_metrics_ids),
    primary_metrics_ordered_uuids: body.primary_metrics_ordered_uuids,
    secondary_metrics_ordered_uuids: body.secondary_metrics_ordered_uuids,
    variants: body.variants,
    holdout_id,
    exposure_cohort_id: exposure_cohort,
    exposure_criteria,
    stats_config,
    scheduling_config: body.scheduling_config,
    only_count_matured_users: body.only_count_matured_users ?? undefined,
    conclusion: body.conclusion,
    conclusion_comment: body.conclusion_comment,
    moves_flag: body.update_feature_flag_params,
    archived: body.archived,
    deleted: body.deleted ?? undefined,
  }
  return sentMembers(wanted) as ExperimentChanges
}

/** Refuses (naming the field and its index) metrics that results cannot be computed for. */
export function requireMetrics(
  app: AppContext,
  project_id: number,
  metrics: readonly unknown[],
  attr: string,
): void {
  if (metrics.length > METRICS_MAX) {
    const detail = `An experiment has at most ${METRICS_MAX} of these metrics.`
    throw new Refusal('invalid_input', detail, { attr })
  }
  for (const [index, raw] of metrics.entries()) {
    requireMetric(app, project_id, raw, `${attr}__${index}`)
  }
}

/** Refuses (naming the field) a metric that results cannot be computed for, and missing actions. */
export function requireMetric(
  app: AppContext,
  project_id: number,
  raw: unknown,
  attr: string,
): void {
  const { series, measures, retention } = readMetric(raw, attr)
  const ends = retention === null ? [] : [retention.start, retention.completion]
  const actions = [...series, ...measures.map((one) => one.series), ...ends].flatMap((node) =>
    node.kind === 'ActionsNode' ? node.id : [],
  )
  if (actions.length === 0) return
  const present = new Set(listActionNames(app.control, project_id).map(({ id }) => id))
  const missing = actions.find((id) => !present.has(id))
  if (missing === undefined) return
  throw new Refusal('does_not_exist', `There is no action with ID ${missing}.`, { attr })
}

/** Members of `parameters` about the time that an experiment takes; newer clients have an object of them. */
const RUNNING_TIME = [
  'minimum_detectable_effect',
  'recommended_running_time',
  'recommended_sample_size',
  'exposure_estimate_config',
] as const

/** The members of `parameters` that newer clients send beside them; undefined without any. */
function ownParameters({
  running_time_calculation,
  excluded_variants,
}: Static<typeof ExperimentChange>): object | undefined {
  if (running_time_calculation === undefined && excluded_variants === undefined) return undefined
  return {
    ...(excluded_variants === undefined ? {} : { excluded_variants: excluded_variants ?? [] }),
    ...(running_time_calculation === undefined
      ? {}
      : runningTimeIn(running_time_calculation ?? {})),
  }
}

/** The same members as newer clients read them. */
function newerMembers(parameters: Json): object {
  const members = isObject(parameters) ? parameters : {}
  return {
    running_time_calculation: runningTimeIn(members),
    excluded_variants: members['excluded_variants'] ?? [],
  }
}

/** Absent members are undefined: a time that is sent replaces all that are stored. */
function runningTimeIn(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(RUNNING_TIME.map((name) => [name, members[name]]))
}

/** Shares of variants have two names; the newer one takes precedence. */
function parametersIn(parameters: object | undefined): object | undefined {
  if (parameters === undefined) return undefined
  if ('aggregation_group_type_index' in parameters) {
    requireGroupType(parameters.aggregation_group_type_index)
  }
  if (!('feature_flag_variants' in parameters)) return parameters
  const { feature_flag_variants: variants } = parameters
  if (!Array.isArray(variants)) {
    throw new Refusal('invalid_input', 'feature_flag_variants must be a list.', {
      attr: 'parameters',
    })
  }
  const feature_flag_variants = variants.map((variant: unknown) => {
    if (typeof variant !== 'object' || variant === null || !('split_percent' in variant)) {
      return variant
    }
    const { split_percent, ...rest } = variant
    return { ...rest, rollout_percentage: split_percent }
  })
  return { ...parameters, feature_flag_variants }
}

const GROUP_TYPES = 5

function requireGroupType(index: unknown): void {
  const is_one = Number.isInteger(index) && Number(index) >= 0 && Number(index) < GROUP_TYPES
  if (index === null || is_one) return
  const detail = `Must be a whole number from 0 to ${GROUP_TYPES - 1}, or null.`
  throw new Refusal('invalid_input', detail, { attr: 'parameters__aggregation_group_type_index' })
}

function linksIn(
  input: Static<typeof ExperimentChange>['saved_metrics_ids'],
): readonly MetricLinkRequest[] | undefined {
  if (input === undefined) return undefined
  return (input ?? []).map(({ id, metadata }) => ({ id, metadata: metadata ?? {} }))
}
