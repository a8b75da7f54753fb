/** Metrics of an experiment: its own, linked saved metrics, and their order. */

import { and, eq, inArray } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import { isObject } from '../../json.ts'
import type { Json } from '../../projects/tables.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { experiment_metric_links, experiment_saved_metrics, type experiments } from '../tables.ts'
import { listSavedMetricIds, type SavedMetric, uuidOf, withUuid } from './saved-metric.ts'

type MeasuredExperiment = typeof experiments.$inferSelect

/** An edit's link to a saved metric. */
export type MetricLinkRequest = {
  readonly id: number
  readonly metadata: { readonly type?: unknown }
}

/** A link of an experiment to a saved metric. */
export type MetricLink = {
  readonly id: number
  readonly experiment_id: number
  readonly metadata: Json
  readonly created_at: Date
  readonly metric: SavedMetric
}

/** Replaces an experiment's links. Refuses metrics of other projects. */
export function setLinks(
  db: ControlDB,
  { id: experiment_id, project_id }: MeasuredExperiment,
  requests: readonly MetricLinkRequest[],
  now: Date,
): void {
  const project_metric_ids = new Set(listSavedMetricIds(db, project_id))
  const ids = requests.map(({ id }) => id)
  const unique = new Set(ids)
  if (unique.size < ids.length || ids.some((id) => !project_metric_ids.has(id))) {
    const detail = 'Saved metric does not exist or does not belong to this project'
    throw new Refusal('does_not_exist', detail, { attr: 'saved_metrics_ids' })
  }
  const removed = readLinks(db, experiment_id).filter((link) => !unique.has(link.saved_metric_id))
  db.delete(experiment_metric_links)
    .where(
      inArray(
        experiment_metric_links.id,
        removed.map(({ id }) => id),
      ),
    )
    .run()
  for (const { id, metadata } of requests) {
    const values = { experiment_id, saved_metric_id: id, metadata: metadata as Json }
    db.insert(experiment_metric_links)
      .values({ ...values, created_at: now })
      .onConflictDoUpdate({
        target: [experiment_metric_links.experiment_id, experiment_metric_links.saved_metric_id],
        set: { metadata: values.metadata },
      })
      .run()
  }
}

/** Lists the links of an experiment, in the order they were added. */
export function listLinks(
  db: ControlDB,
  { project_id, id }: MeasuredExperiment,
): readonly MetricLink[] {
  const rows = db
    .select()
    .from(experiment_metric_links)
    .innerJoin(
      experiment_saved_metrics,
      eq(experiment_saved_metrics.id, experiment_metric_links.saved_metric_id),
    )
    .where(
      and(
        eq(experiment_saved_metrics.project_id, project_id),
        eq(experiment_metric_links.experiment_id, id),
      ),
    )
    .orderBy(experiment_metric_links.id)
    .all()
  return rows.map(({ experiment_metric_links: link, experiment_saved_metrics: metric }) => ({
    id: link.id,
    experiment_id: link.experiment_id,
    metadata: link.metadata,
    created_at: link.created_at,
    metric,
  }))
}

/** Whether a saved metric is linked as secondary. */
export function isSecondary({ metadata }: Pick<MetricLink, 'metadata'>): boolean {
  return isObject(metadata) && metadata['type'] === 'secondary'
}

/** Gives each own metric a unique uuid; `taken` are the linked metrics' uuids. */
export function withUuids(metrics: unknown, taken: ReadonlySet<string>): Json {
  const seen = new Set(taken)
  if (!Array.isArray(metrics)) return []
  return metrics.map((metric: unknown) => {
    if (!isObject(metric)) return metric as Json
    const stored = uuidOf(metric)
    const uuid = stored === null || seen.has(stored) ? crypto.randomUUID() : stored
    seen.add(uuid)
    return withUuid(metric, uuid)
  })
}

/**
 * Returns the uuids of all metrics in display order: the stored order without removed metrics, then new ones.
 */
export function orderOf(stored: unknown, metrics: unknown, shared: readonly MetricLink[]): Json {
  const own: readonly unknown[] = Array.isArray(metrics) ? metrics : []
  const present = [...own, ...shared.map(({ metric }) => metric.query)].flatMap(
    (query) => uuidOf(query) ?? [],
  )
  const stored_order: readonly unknown[] = Array.isArray(stored) ? stored : []
  // The first place of a uuid counts, so it is set last.
  const places = new Map(stored_order.map((uuid, place) => [uuid, place] as const).toReversed())
  const ordered = present.filter((uuid) => places.has(uuid))
  const sorted = ordered.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
  return [...new Set([...sorted, ...present])]
}

/** Reads the links of one experiment. */
function readLinks(db: ControlDB, experiment_id: number) {
  const its = eq(experiment_metric_links.experiment_id, experiment_id)
  return db.select().from(experiment_metric_links).where(its).all()
}
