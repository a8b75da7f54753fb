/** Schemas of saved insights and dashboards. */
import { t } from 'elysia'
import {
  AnyJson,
  Moment,
  NullableMoment,
  NullableText,
  NullableYes,
  PageQuery,
  pageOfItems,
  Whole,
} from '../common.ts'
import { NullableUser } from '../user-basic.ts'

const NAME_LENGTH_MAX = 400
const TEXT_LENGTH_MAX = 4000
const TAGS_MAX = 100
const DASHBOARDS_MAX = 100
const TILES_MAX = 500
/** Each tile is an insight that is made at once, 0.1 ms of the main thread each. */
const TEMPLATE_TILES_MAX = 100
const VIEWED_MAX = 100

const AnyObject = t.Object({}, { additionalProperties: true })
const Name = t.Optional(t.Nullable(t.String({ maxLength: NAME_LENGTH_MAX })))
const Description = t.Optional(t.Nullable(t.String({ maxLength: TEXT_LENGTH_MAX })))
const Tags = t.Optional(t.Array(t.String({ maxLength: 255 }), { maxItems: TAGS_MAX }))

/** Body of POST …/insights/ and of PATCH; `query` is a query as in POST …/query/. */
export const InsightBody = t.Object(
  {
    name: Name,
    derived_name: Name,
    description: Description,
    query: t.Optional(t.Nullable(AnyObject)),
    filters: t.Optional(t.Nullable(AnyObject)),
    tags: Tags,
    favorited: t.Optional(t.Boolean()),
    saved: t.Optional(t.Boolean()),
    deleted: t.Optional(t.Boolean()),
    dashboards: t.Optional(t.Nullable(t.Array(Whole, { maxItems: DASHBOARDS_MAX }))),
  },
  { additionalProperties: true },
)

const refresh = t.Optional(
  t.UnionEnum([
    'force_cache',
    'blocking',
    'async',
    'lazy_async',
    'force_blocking',
    'force_async',
    'async_except_on_cache_miss',
    'true',
    'false',
  ]),
)

export const InsightsQuery = t.Object({
  ...PageQuery.properties,
  search: t.Optional(t.String()),
  short_id: t.Optional(t.String()),
  saved: t.Optional(t.UnionEnum(['true', 'false'])),
  favorited: t.Optional(t.UnionEnum(['true', 'false'])),
  /** Insights on this dashboard. */
  dashboard: t.Optional(Whole),
  /** A JSON list: insights on all of these dashboards. */
  dashboards: t.Optional(t.String()),
  /** A JSON list: insights that count all of these events. */
  events: t.Optional(t.String()),
  /** A JSON list: insights with any of these tags. */
  tags: t.Optional(t.String()),
  /** The id of a user, or a JSON list of them. */
  created_by: t.Optional(t.String()),
  /** The caller's own insights. */
  user: t.Optional(t.UnionEnum(['true', 'false'])),
  insight: t.Optional(t.String()),
  date_from: t.Optional(t.String()),
  date_to: t.Optional(t.String()),
  created_date_from: t.Optional(t.String()),
  created_date_to: t.Optional(t.String()),
  refresh,
})

/** The refresh mode; by default only cached results are returned and nothing is computed. */
export const RefreshQuery = t.Object({
  refresh,
  /** A JSON object that replaces the dashboard's filters in this call. */
  filters_override: t.Optional(t.String()),
  /** A JSON object that replaces variables in this call, by their ids. */
  variables_override: t.Optional(t.String()),
})

/** Parameters of one insight. */
export const InsightQuery = t.Object({
  ...RefreshQuery.properties,
  /** The dashboard whose filters apply; ignored when the insight is not on it. */
  from_dashboard: t.Optional(Whole),
})

/** Body of POST …/reorder_tiles/: ids of tiles. */
export const TileOrderBody = t.Object(
  { tile_order: t.Array(Whole, { minItems: 1, maxItems: TILES_MAX }) },
  { additionalProperties: true },
)

const result = {
  result: AnyJson,
  hasMore: AnyJson,
  columns: AnyJson,
  types: AnyJson,
  hogql: AnyJson,
  is_cached: t.Boolean(),
  last_refresh: AnyJson,
  cache_target_age: AnyJson,
  next_allowed_client_refresh: AnyJson,
  query_status: AnyJson,
}

/** A saved insight, with its result if it was computed or is cached. */
export const InsightAnswer = t.Object({
  id: Whole,
  short_id: t.String(),
  name: NullableText,
  derived_name: NullableText,
  description: t.String(),
  query: AnyJson,
  filters: AnyJson,
  order: t.Nullable(Whole),
  tags: t.Array(t.String()),
  favorited: t.Boolean(),
  saved: t.Boolean(),
  deleted: t.Boolean(),
  is_sample: t.Boolean(),
  dashboards: t.Array(Whole),
  dashboard_tiles: t.Array(t.Object({ id: Whole, dashboard_id: Whole, deleted: t.Boolean() })),
  created_by: NullableUser,
  last_modified_by: NullableUser,
  created_at: Moment,
  updated_at: Moment,
  last_modified_at: Moment,
  effective_restriction_level: Whole,
  effective_privilege_level: Whole,
  timezone: t.String(),
  ...result,
})
export const InsightPage = pageOfItems(InsightAnswer)

/** Body of POST …/insights/viewed/. */
export const ViewedBody = t.Object(
  { insight_ids: t.Array(Whole, { minItems: 1, maxItems: VIEWED_MAX }) },
  { additionalProperties: true },
)

export const TrendingQuery = t.Object({ ...PageQuery.properties, days: t.Optional(Whole) })

/** An insight with its viewers, each once. */
export const TrendingInsight = t.Object({
  ...InsightAnswer.properties,
  view_count: Whole,
  viewers: t.Array(NullableUser),
})

/** Legacy filters; each insight has its own parameters. */
export const DirectInsightQuery = t.Object({
  refresh,
  events: t.Optional(t.String()),
  actions: t.Optional(t.String()),
  date_from: t.Optional(t.String()),
  date_to: t.Optional(t.String()),
  interval: t.Optional(t.String()),
  properties: t.Optional(t.String()),
})

/** Legacy filters as a body, in which lists are JSON lists. */
export const DirectInsightBody = t.Object({}, { additionalProperties: true })

/** The result of an insight that is not saved. */
export const DirectInsightAnswer = t.Object({ ...result, timezone: t.String(), next: t.Null() })

/** A tile in a body: with an id an existing one, without an id a new text. */
const SentTile = t.Object(
  {
    id: t.Optional(Whole),
    layouts: t.Optional(t.Nullable(AnyObject)),
    color: t.Optional(t.Nullable(t.String({ maxLength: 400 }))),
    show_description: t.Optional(NullableYes),
    text: t.Optional(
      t.Nullable(
        t.Object(
          { body: t.String({ maxLength: TEXT_LENGTH_MAX }) },
          { additionalProperties: true },
        ),
      ),
    ),
    deleted: t.Optional(t.Nullable(t.Boolean())),
  },
  { additionalProperties: true },
)

/** Body of POST …/dashboards/ and of PATCH. */
export const DashboardBody = t.Object(
  {
    name: Name,
    description: Description,
    pinned: t.Optional(t.Boolean()),
    tags: Tags,
    filters: t.Optional(t.Nullable(AnyObject)),
    variables: t.Optional(t.Nullable(AnyObject)),
    restriction_level: t.Optional(t.UnionEnum([21, 37])),
    deleted: t.Optional(t.Boolean()),
    tiles: t.Optional(t.Nullable(t.Array(SentTile, { maxItems: TILES_MAX }))),
    /** The dashboard whose tiles a new one starts with. */
    use_dashboard: t.Optional(t.Nullable(Whole)),
    /** With `use_dashboard`: copies the insights instead of showing them on both. */
    duplicate_tiles: t.Optional(t.Nullable(t.Boolean())),
    /** The key or name of the template that a new one starts with. */
    use_template: t.Optional(t.Nullable(t.String())),
    /** With `deleted`: also deletes the insights that are on no other dashboard. */
    delete_insights: t.Optional(t.Nullable(t.Boolean())),
  },
  { additionalProperties: true },
)

const TemplateInsight = t.Object(
  {
    type: t.Literal('INSIGHT'),
    name: t.Optional(t.Nullable(t.String({ maxLength: NAME_LENGTH_MAX }))),
    description: Description,
    query: t.Optional(t.Nullable(AnyObject)),
    filters: t.Optional(t.Nullable(AnyObject)),
    layouts: t.Optional(t.Nullable(AnyObject)),
    color: t.Optional(t.Nullable(t.String({ maxLength: 400 }))),
  },
  { additionalProperties: true },
)
const TemplateText = t.Object(
  {
    type: t.Literal('TEXT'),
    body: t.String({ maxLength: TEXT_LENGTH_MAX }),
    layouts: t.Optional(t.Nullable(AnyObject)),
    color: t.Optional(t.Nullable(t.String({ maxLength: 400 }))),
  },
  { additionalProperties: true },
)

/** Body of POST …/dashboards/create_from_template_json/: a template that is not in the list. */
export const TemplateBody = t.Object(
  {
    template: t.Object(
      {
        template_name: t.Optional(t.Nullable(t.String({ maxLength: NAME_LENGTH_MAX }))),
        dashboard_description: Description,
        dashboard_filters: t.Optional(t.Nullable(AnyObject)),
        tags: t.Optional(t.Nullable(Tags)),
        tiles: t.Array(t.Union([TemplateInsight, TemplateText]), {
          minItems: 1,
          maxItems: TEMPLATE_TILES_MAX,
        }),
      },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true },
)

/** A dashboard to start with. The web interface lists the same ones. */
export const DashboardTemplateAnswer = t.Object({
  id: t.String(),
  key: t.String(),
  template_name: t.String(),
  dashboard_description: t.String(),
  dashboard_filters: AnyJson,
  tags: t.Array(t.String()),
  tiles: t.Array(AnyJson),
  variables: t.Array(AnyJson),
  deleted: t.Boolean(),
  scope: t.Literal('global'),
  team_id: t.Null(),
  image_url: t.Null(),
  created_by: t.Null(),
  created_at: NullableMoment,
})
export const DashboardTemplatePage = pageOfItems(DashboardTemplateAnswer)

export const DashboardTemplatesQuery = t.Object({
  ...PageQuery.properties,
  /** Part of a name, a description or a tag. */
  search: t.Optional(t.String()),
  scope: t.Optional(t.UnionEnum(['global', 'team', 'feature_flag'])),
})

/** Body of PATCH …/move_tile/. */
export const MoveTileBody = t.Object(
  {
    tile: t.Object({ id: Whole }, { additionalProperties: true }),
    toDashboard: t.Optional(Whole),
    to_dashboard: t.Optional(Whole),
  },
  { additionalProperties: true },
)

export const DashboardsQuery = t.Object({
  ...PageQuery.properties,
  /** Part of a name, a description or a tag. */
  search: t.Optional(t.String()),
  /** One of its tags; may be repeated. */
  tags: t.Optional(t.String()),
  pinned: t.Optional(t.UnionEnum(['true', 'false'])),
})

/** Query of …/run_insights/. */
export const RunInsightsQuery = t.Object({
  ...RefreshQuery.properties,
  /** Numbers of tiles joined by commas: only these are computed. */
  tile_ids: t.Optional(t.String()),
})

/** The computed insights of a dashboard. */
export const DashboardResults = t.Object({
  results: t.Array(t.Object({ id: Whole, order: Whole, insight: InsightAnswer })),
})

const dashboard = {
  id: Whole,
  name: NullableText,
  description: t.String(),
  pinned: t.Boolean(),
  tags: t.Array(t.String()),
  deleted: t.Boolean(),
  is_shared: t.Boolean(),
  creation_mode: t.String(),
  restriction_level: Whole,
  effective_restriction_level: Whole,
  effective_privilege_level: Whole,
  created_by: NullableUser,
  created_at: Moment,
  last_modified_at: NullableMoment,
}

/** Dashboards in lists have no tiles. */
export const DashboardPage = pageOfItems(t.Object(dashboard))

export const DashboardAnswer = t.Object({
  ...dashboard,
  filters: AnyJson,
  variables: AnyJson,
  tiles: t.Array(
    t.Object({
      id: Whole,
      /** Its index among the tiles, from 0. */
      order: Whole,
      layouts: AnyJson,
      color: NullableText,
      show_description: NullableYes,
      deleted: t.Boolean(),
      insight: t.Nullable(InsightAnswer),
      text: t.Nullable(t.Object({ body: t.String() })),
      is_cached: t.Boolean(),
      last_refresh: AnyJson,
    }),
  ),
})
