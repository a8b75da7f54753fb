/** Copies an experiment as a draft: in its own project, or into another of the organization. */

import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { findFlagByKey, getFlag } from '../flags/flag.ts'
import type { TargetingEditor } from '../shared/editor.ts'
import { createExperiment, type Experiment, listExperimentHeads } from './experiment.ts'
import { variantsOf } from './experiment-flag.ts'
import { listLinks, type MetricLinkRequest } from './experiment-metrics.ts'

/** The longest name that bodies of experiments may have. */
const NAME_LENGTH_MAX = 400

/** The copy's name and flag; undefined members are copied. */
type ExperimentCopyRequest = {
  readonly name?: string | undefined
  readonly feature_flag_key?: string | undefined
}

/**
 * Creates a draft like an experiment, in the editor's project. Without a flag key it uses the same flag. Saved
 * metrics are copied within a project; holdouts and cohorts are not.
 */
export function copyExperiment(
  editor: TargetingEditor,
  source: Experiment,
  { name, feature_flag_key }: ExperimentCopyRequest,
  now: Date,
): Experiment {
  const { control, project } = editor
  requireCurrentMetrics(source)
  const is_here = project.id === source.project_id
  const flag = getFlag(control, source.project_id, source.feature_flag_id)
  const key = feature_flag_key || flag.key
  const existing_flag = findFlagByKey(control, project.id, key)
  const variants = variantsOf(existing_flag ?? flag)
  const parameters = {
    ...(isObject(source.parameters) ? source.parameters : {}),
    ...(variants === null ? {} : { feature_flag_variants: variants }),
  }
  return createExperiment(
    editor,
    {
      name: name || freeName(control, project.id, source.name),
      feature_flag_key: key,
      description: source.description,
      type: source.type,
      parameters,
      filters: source.filters,
      metrics: withoutUuids(source.metrics),
      secondary_metrics: withoutUuids(source.secondary_metrics),
      stats_config: source.stats_config,
      exposure_criteria: source.exposure_criteria,
      scheduling_config: source.scheduling_config,
      only_count_matured_users: source.only_count_matured_users,
      variants: source.variants,
      saved_metrics: is_here ? linksOf(control, source) : [],
    },
    now,
  )
}

/** Refuses metrics of legacy kinds, whose queries name their experiment. */
function requireCurrentMetrics({ metrics, secondary_metrics }: Experiment): void {
  const is_old = [metrics, secondary_metrics]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .some((metric) => isObject(metric) && metric['kind'] !== 'ExperimentMetric')
  if (!is_old) return
  const detail = 'Copying is not supported for experiments using legacy metrics.'
  throw new Refusal('invalid_input', detail)
}

function linksOf(db: ControlDB, experiment: Experiment): readonly MetricLinkRequest[] {
  const links = listLinks(db, experiment)
  return links.map(({ metric, metadata }) => ({
    id: metric.id,
    metadata: isObject(metadata) ? metadata : {},
  }))
}

/** Removes uuids: results are identified by them, so a copy's metrics get new ones. */
function withoutUuids(metrics: Json): Json {
  if (!Array.isArray(metrics)) return []
  return metrics.map((metric) => {
    if (!isObject(metric)) return metric
    const { uuid: _other, fingerprint: _print, ...rest } = metric
    return rest as Json
  })
}

function freeName(db: ControlDB, project_id: number, name: string): string {
  const taken = new Set(listExperimentHeads(db, project_id).map((one) => one.name))
  let candidate = withEnding(name, ' (Copy)')
  for (let number = 1; taken.has(candidate); number += 1) {
    candidate = withEnding(name, ` (Copy) ${number}`)
  }
  return candidate
}

/** Appends an ending to a name, which is cut where both are too long. */
function withEnding(name: string, ending: string): string {
  return name.slice(0, NAME_LENGTH_MAX - ending.length).toWellFormed() + ending
}
