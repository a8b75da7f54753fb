/** What a question looks like on the wire. Interface §4.3. */
import { t } from 'elysia'

/** How fresh an answer has to be, and whether to wait for it. */
export const REFRESH_MODES = [
  'blocking',
  'async',
  'lazy_async',
  'force_blocking',
  'force_async',
  'force_cache',
] as const

const ID_LENGTH_MAX = 400

/** Body of POST …/query/. What is not listed is refused, so that a misspelt member is not silently ignored. */
export const QueryRequest = t.Object(
  {
    query: t.Object({ kind: t.String() }, { additionalProperties: true }),
    client_query_id: t.Optional(t.Nullable(t.String({ maxLength: ID_LENGTH_MAX }))),
    refresh: t.Optional(t.Nullable(t.Union([t.Boolean(), t.UnionEnum(REFRESH_MODES)]))),
    async: t.Optional(t.Nullable(t.Boolean())),
    filters_override: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
    variables_override: t.Optional(t.Nullable(t.Object({}, { additionalProperties: true }))),
  },
  { additionalProperties: false },
)

/** The `query` member of kind HogQLQuery; members of ours are checked, others are for later and pass. */
export const HogQLQuery = t.Object(
  {
    kind: t.Literal('HogQLQuery'),
    query: t.String(),
    values: t.Optional(t.Nullable(t.Record(t.String(), t.Unknown()))),
  },
  { additionalProperties: true },
)
