/** Schemas of queries and of the request around them. */
import { type Static, type TSchema, t } from 'elysia'
import { BreakdownFilter } from '../insights/breakdown.ts'

/** Refresh modes: how fresh an answer must be, and whether the caller waits. */
export const REFRESH_MODES = [
  'blocking',
  'async',
  'lazy_async',
  'force_blocking',
  'force_async',
  'force_cache',
  'async_except_on_cache_miss',
] as const

const ID_LENGTH_MAX = 400
const NAME_LENGTH_MAX = 400

const Members = t.Record(t.String(), t.Unknown())
const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))

/** Filters that a dashboard applies to its queries. Unknown members are ignored. */
export const FiltersOverride = t.Object(
  {
    date_from: optionally(t.String()),
    date_to: optionally(t.String()),
    explicitDate: optionally(t.Boolean()),
    properties: optionally(t.Union([t.Array(Members), Members])),
    breakdown_filter: optionally(BreakdownFilter),
    breakdown: optionally(BreakdownFilter),
  },
  { additionalProperties: true },
)
export type FiltersOverride = Static<typeof FiltersOverride>

/** Body of POST …/query/. Unknown members are refused, so that a misspelt one is not silently ignored. */
export const QueryRequest = t.Object(
  {
    query: t.Object({ kind: t.String() }, { additionalProperties: true }),
    client_query_id: t.Optional(t.Nullable(t.String({ maxLength: ID_LENGTH_MAX }))),
    /** A name for the caller's own logs; it has no effect. */
    name: t.Optional(t.Nullable(t.String({ maxLength: NAME_LENGTH_MAX }))),
    /** Assistants send it; it has no effect. */
    limit_context: optionally(t.Literal('posthog_ai')),
    refresh: t.Optional(t.Nullable(t.Union([t.Boolean(), t.UnionEnum(REFRESH_MODES)]))),
    async: t.Optional(t.Nullable(t.Boolean())),
    filters_override: optionally(FiltersOverride),
    variables_override: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
  },
  { additionalProperties: false },
)

/** The forms of an answer: one JSON body, or rows as a stream, whose limits are those of exports (`--export-rows-max`). */
const ANSWER_FORMATS = ['json', 'csv', 'ndjson', 'jsonl', 'arrow', 'parquet', 'xlsx'] as const

/** Query parameters of POST …/query/; the Accept header does the same. */
export const FormatQuery = t.Object({ format: t.Optional(t.UnionEnum(ANSWER_FORMATS)) })

/** The date range of a query; texts are dates, or relative like `-7d`. */
const DateRange = t.Object(
  {
    date_from: optionally(t.String()),
    date_to: optionally(t.String()),
    explicitDate: optionally(t.Boolean()),
  },
  { additionalProperties: false },
)

/** Values of the placeholder `{filters}`. */
const HogQLFilters = t.Object(
  {
    dateRange: optionally(DateRange),
    properties: optionally(t.Array(Members)),
    filterTestAccounts: optionally(t.Boolean()),
  },
  { additionalProperties: false },
)

/** The value of one `{variables.code_name}`. */
const HogQLVariable = t.Object(
  {
    variableId: optionally(t.String()),
    code_name: t.Optional(t.String()),
    value: t.Optional(t.Unknown()),
    isNull: optionally(t.Boolean()),
  },
  { additionalProperties: true },
)

/** The `query` member of kind HogQLQuery. Members that only editors and older servers use are ignored. */
export const HogQLQuery = t.Object(
  {
    kind: t.Literal('HogQLQuery'),
    query: t.String(),
    name: optionally(t.String()),
    values: optionally(Members),
    filters: optionally(HogQLFilters),
    variables: optionally(t.Record(t.String(), HogQLVariable)),
    modifiers: optionally(Members),
    explain: optionally(t.Boolean()),
    /** A database of another kind to ask, of which there is none here; without one the second has no effect. */
    connectionId: t.Optional(t.Null()),
    sendRawQuery: optionally(t.Boolean()),
    response: optionally(t.Unknown()),
    tags: optionally(t.Unknown()),
    version: optionally(t.Number()),
  },
  { additionalProperties: false },
)

/** Body of POST …/insights/cancel/. */
export const CancelBody = t.Object(
  { client_query_id: t.String({ minLength: 1 }) },
  { additionalProperties: true },
)
