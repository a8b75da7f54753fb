/** KINDS: the definitions that a move brings over, in the order in which they name one another. */
import { isObject } from '../../json.ts'
import type { JSONObject } from '../sources/source.ts'

export type DefinitionKind = {
  /** The path of its list, and its name in the report and in `--kinds`. */
  readonly path: string
  /** Parameters of its list at the source. */
  readonly list?: Readonly<Record<string, string>>
  /** The text member that marks a new item until its final members are sent; null where `unique` finds it again. */
  readonly mark: 'content' | 'description' | 'name' | null
  /** A member that no two items of a project share. */
  readonly unique?: string
  /** Members that a new item is created with; `fixed` are added to them. */
  readonly created: readonly string[]
  readonly fixed?: JSONObject
  /** Members that are sent once its references are known here. */
  readonly members: readonly string[]
  /** Removal is a DELETE, or a change of `deleted`. */
  readonly is_deleted_by_call?: true
  /** The reason why an item cannot be brought over; null where it can. */
  readonly refuse?: (item: JSONObject) => string | null
  /** The members of an item under the names that a body has. */
  readonly read?: (item: JSONObject) => JSONObject
  /** The final form of a body, after ids were replaced. */
  readonly write?: (body: JSONObject) => JSONObject
}

/** Adding a kind means adding a line; other definitions can name it once `references.ts` knows the member. */
export const KINDS: readonly DefinitionKind[] = [
  {
    path: 'insight_variables',
    mark: null,
    unique: 'code_name',
    created: ['name', 'type', 'default_value', 'values'],
    members: ['type', 'default_value', 'values'],
    is_deleted_by_call: true,
  },
  {
    path: 'actions',
    mark: 'description',
    created: ['name'],
    members: ['name', 'description', 'tags', 'steps'],
  },
  {
    path: 'cohorts',
    mark: 'description',
    created: ['name', 'is_static'],
    members: ['name', 'description', 'filters', 'groups'],
    read: ({ filters, groups, is_static, ...item }) =>
      // Groups are the older form of the same conditions; a list of persons has none.
      is_static === true
        ? { ...item, is_static }
        : isObject(filters)
          ? { ...item, filters }
          : { ...item, groups },
  },
  {
    path: 'feature_flags',
    mark: 'name',
    unique: 'key',
    created: ['key'],
    fixed: { active: false },
    members: [
      'key',
      'name',
      'filters',
      'active',
      'archived',
      'ensure_experience_continuity',
      'evaluation_runtime',
      'bucketing_identifier',
      'evaluation_contexts',
      'is_remote_configuration',
      'has_enriched_analytics',
      'tags',
    ],
    read: readFlag,
    refuse: ({ has_encrypted_payloads }) =>
      has_encrypted_payloads === true ? 'its payloads are encrypted, and are not given out' : null,
  },
  {
    path: 'early_access_feature',
    mark: 'description',
    created: ['name', 'stage', 'feature_flag_id'],
    members: ['name', 'description', 'stage', 'documentation_url', 'payload'],
    is_deleted_by_call: true,
    read: ({ feature_flag: flag, ...item }) => ({
      ...item,
      feature_flag_id: isObject(flag) ? flag['id'] : null,
    }),
  },
  {
    path: 'insights',
    list: { saved: 'true' },
    mark: 'description',
    created: ['name'],
    members: [
      'name',
      'derived_name',
      'description',
      'query',
      'filters',
      'tags',
      'favorited',
      'saved',
    ],
    read: ({ filters, ...item }) => (isObject(item['query']) ? item : { ...item, filters }),
  },
  {
    path: 'dashboards',
    mark: 'description',
    created: ['name'],
    members: ['name', 'description', 'pinned', 'tags', 'filters', 'variables', 'restriction_level'],
  },
  {
    path: 'annotations',
    mark: 'content',
    created: ['date_marker'],
    fixed: { scope: 'project' },
    members: ['content', 'date_marker', 'creation_type', 'scope', 'dashboard_item', 'dashboard_id'],
    // An annotation of the organization would be shown in projects that its makers do not know.
    read: ({ scope, ...item }) => ({
      ...item,
      scope: scope === 'organization' ? 'project' : scope,
    }),
  },
  {
    path: 'experiment_holdouts',
    mark: 'description',
    created: ['name', 'filters'],
    members: ['name', 'description', 'filters'],
    is_deleted_by_call: true,
    read: ({ filters, ...item }) => ({ ...item, filters: withoutVariants(filters) }),
  },
  {
    path: 'experiment_saved_metrics',
    mark: 'description',
    created: ['name', 'query'],
    members: ['name', 'description', 'query', 'tags'],
    is_deleted_by_call: true,
  },
  {
    path: 'experiments',
    mark: 'description',
    created: [
      'name',
      'feature_flag_key',
      'type',
      'parameters',
      'filters',
      'metrics',
      'metrics_secondary',
      'holdout_id',
      'exposure_cohort',
      'exposure_criteria',
      'stats_config',
      'saved_metrics_ids',
      'variants',
      'start_date',
      'end_date',
    ],
    members: [
      'name',
      'description',
      'metrics',
      'metrics_secondary',
      'exposure_criteria',
      'stats_config',
      'saved_metrics_ids',
      'primary_metrics_ordered_uuids',
      'secondary_metrics_ordered_uuids',
      'end_date',
      'conclusion',
      'conclusion_comment',
      'archived',
    ],
    read: readExperiment,
    write: writeExperiment,
  },
  {
    path: 'surveys',
    mark: 'description',
    created: ['name', 'type', 'questions'],
    members: [
      'name',
      'description',
      'type',
      'schedule',
      'linked_flag_id',
      'targeting_flag_filters',
      'questions',
      'conditions',
      'appearance',
      'start_date',
      'end_date',
      'archived',
      'enable_partial_responses',
      'enable_iframe_embedding',
      'translations',
      'form_content',
      'responses_limit',
      'iteration_count',
      'iteration_frequency_days',
      'response_sampling_start_date',
      'response_sampling_interval_type',
      'response_sampling_interval',
      'response_sampling_limit',
      'response_sampling_daily_limits',
    ],
    is_deleted_by_call: true,
    read: readSurvey,
  },
]

/** Holdouts of a flag belong to its experiment, which sets them again. */
function readFlag(item: JSONObject): JSONObject {
  if (!isObject(item['filters'])) return item
  const { holdout: _holdout, holdout_groups: _groups, ...filters } = item['filters']
  return { ...item, filters }
}

/** The variants of a holdout are named after its id. */
function withoutVariants(filters: unknown): unknown {
  if (!Array.isArray(filters)) return filters
  return filters.map((filter: unknown) => {
    if (!isObject(filter)) return filter
    const { variant: _variant, ...rest } = filter
    return rest
  })
}

function readExperiment(item: JSONObject): JSONObject {
  const { metrics_secondary, secondary_metrics, saved_metrics } = item
  const links = Array.isArray(saved_metrics) ? saved_metrics.filter((link) => isObject(link)) : []
  return {
    ...item,
    metrics_secondary: Array.isArray(metrics_secondary) ? metrics_secondary : secondary_metrics,
    saved_metrics_ids: links.map(({ saved_metric, metadata }) => ({ saved_metric, metadata })),
  }
}

function writeExperiment(body: JSONObject): JSONObject {
  const links = body['saved_metrics_ids']
  if (!Array.isArray(links)) return body
  const sent = links
    .filter((link) => isObject(link))
    .map(({ saved_metric, metadata }) => ({ id: saved_metric, metadata }))
  return { ...body, saved_metrics_ids: sent }
}

/** The filters of a survey's own flag make one of their kind here. */
function readSurvey(item: JSONObject): JSONObject {
  const flag = item['targeting_flag']
  const filters = isObject(flag) ? flag['filters'] : undefined
  return { ...item, ...(isObject(filters) ? { targeting_flag_filters: filters } : {}) }
}
