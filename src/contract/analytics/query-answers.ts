/** Schemas of answers to queries. */
import { t } from 'elysia'
import { AnyJson, NullableText, Whole } from '../common.ts'
import { QUERY_RESULTS } from '../insights/answers.ts'

/** The progress of a query. */
const QueryStatus = t.Object(
  {
    id: t.String(),
    team_id: Whole,
    complete: t.Boolean(),
    error: t.Boolean(),
    error_message: NullableText,
    query_async: t.Boolean(),
    query_progress: AnyJson,
    results: AnyJson,
    start_time: NullableText,
    end_time: NullableText,
    pickup_time: NullableText,
    expiration_time: NullableText,
    dashboard_id: t.Nullable(Whole),
    insight_id: t.Nullable(Whole),
    labels: AnyJson,
    task_id: NullableText,
  },
  { additionalProperties: true },
)

/** Answer of GET …/query/{id}/. */
export const QueryStatusAnswer = t.Object({ query_status: QueryStatus })

/** Answer of POST …/query/download/: the path under which the file is fetched, once and without a key. */
export const DownloadAnswer = t.Object({ path: t.String() })

/** Query parameters of GET …/query/{id}/. */
export const StatusQuery = t.Object({ show_progress: t.Optional(t.Boolean()) })

/** The results of the kinds whose results are described, and of any other. */
const Results = t.Union([
  ...Object.entries(QUERY_RESULTS).map(([title, schema]) => ({ ...schema, title })),
  AnyJson,
])

/** Answer of POST …/query/: the rows of a finished query, the status of one in the background. */
export const QueryAnswer = t.Object(
  {
    results: t.Optional(Results),
    columns: t.Optional(AnyJson),
    types: t.Optional(AnyJson),
    hogql: t.Optional(NullableText),
    hasMore: t.Optional(t.Boolean()),
    limit: t.Optional(t.Nullable(Whole)),
    offset: t.Optional(t.Nullable(Whole)),
    error: t.Optional(NullableText),
    is_cached: t.Optional(t.Boolean()),
    last_refresh: t.Optional(NullableText),
    cache_key: t.Optional(NullableText),
    /** Nothing but requests has an answer computed. */
    calculation_trigger: t.Optional(t.Null()),
    timezone: t.Optional(t.String()),
    query_status: t.Optional(t.Nullable(QueryStatus)),
  },
  { additionalProperties: true },
)
