/** The order in which the metrics of an experiment are shown. */
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import type { DraftedExperiment } from './experiment-draft.ts'
import { membersOf } from './metric.ts'

/** A metric of the list; neither of the experiment's own nor shared is the one of an old experiment. */
export type ListedMetric = {
  readonly key: string
  readonly metric: unknown
  /** Its place among the experiment's own. */
  readonly at: number | null
  /** The id of one that is shared. */
  readonly link: number | null
}

/** The metrics of a draft in the stored order, new ones last. */
export function listMetrics(
  experiment: ShownExperiment | null,
  draft: DraftedExperiment,
  member: 'metrics' | 'secondary',
): readonly ListedMetric[] {
  const own = draft[member].map((metric, at) => ({ key: String(at), metric, at, link: null }))
  if (experiment === null) return own
  const { primary_metrics_ordered_uuids, secondary_metrics_ordered_uuids } = experiment
  const order =
    member === 'metrics' ? primary_metrics_ordered_uuids : secondary_metrics_ordered_uuids
  const uuids = listOf(order)
  const placeOf = ({ metric }: ListedMetric): number => {
    const place = uuids.indexOf(membersOf(metric)['uuid'] ?? null)
    return place === -1 ? uuids.length : place
  }
  const old = member === 'metrics' && own.length === 0 ? oldMetrics(experiment) : []
  const all = [...old, ...own, ...sharedOf(experiment, draft, member)]
  return all.toSorted((one, other) => placeOf(one) - placeOf(other))
}

function sharedOf(
  { saved_metrics }: ShownExperiment,
  { shared }: DraftedExperiment,
  member: 'metrics' | 'secondary',
): readonly ListedMetric[] {
  const left = new Set(shared.map((link) => membersOf(link)['id']))
  return saved_metrics.flatMap(({ name, query, metadata, saved_metric: link }) => {
    const is_second = membersOf(metadata)['type'] === 'secondary'
    if (is_second !== (member === 'secondary') || !left.has(link)) return []
    const { fingerprint: _hash, ...metric } = membersOf(query)
    return [{ key: `shared ${link}`, metric: { name, ...metric }, at: null, link }]
  })
}

/** The events of an experiment from before there were metrics. */
function oldMetrics({ filters }: ShownExperiment): readonly ListedMetric[] {
  const { events, actions } = membersOf(filters)
  if (listOf(events).length + listOf(actions).length === 0) return []
  const metric = { kind: 'ExperimentFilters', filters }
  return [{ key: 'old', metric, at: null, link: null }]
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
