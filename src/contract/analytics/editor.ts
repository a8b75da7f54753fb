/** Schemas of the editor's queries: metadata of a query, completions, tables. */
import { type Static, type TSchema, t } from 'elysia'

const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))
const Members = t.Record(t.String(), t.Unknown())
const Offset = t.Number({ multipleOf: 1, minimum: 0 })

/** The longest text of an editor; the parser's own limit is lower. */
const TEXT_LENGTH_MAX = 1_000_000

/** The kind of text: a whole query, one expression, a text with expressions in braces. */
const Language = t.UnionEnum(['hogQL', 'hogQLExpr', 'hogTemplate'])

/** Members of every editor query. */
const common = {
  language: Language,
  query: t.String({ maxLength: TEXT_LENGTH_MAX }),
  /** The query that contains an expression. */
  sourceQuery: optionally(t.Object({ kind: t.String() }, { additionalProperties: true })),
  /** Names of values that are set where the text will run. */
  globals: optionally(Members),
  filters: optionally(Members),
  variables: optionally(Members),
  modifiers: optionally(Members),
  response: optionally(t.Unknown()),
  tags: optionally(t.Unknown()),
  version: optionally(t.Number()),
}

/** The `query` member of kind HogQLMetadata. */
export const HogQLMetadata = t.Object(
  { kind: t.Literal('HogQLMetadata'), ...common, debug: optionally(t.Boolean()) },
  { additionalProperties: false },
)
export type HogQLMetadata = Static<typeof HogQLMetadata>

/** The `query` member of kind HogQLAutocomplete; positions count UTF-16 units, the end is exclusive. */
export const HogQLAutocomplete = t.Object(
  {
    kind: t.Literal('HogQLAutocomplete'),
    ...common,
    startPosition: Offset,
    endPosition: Offset,
  },
  { additionalProperties: false },
)
export type HogQLAutocomplete = Static<typeof HogQLAutocomplete>

/** The `query` member of kind DatabaseSchemaQuery. */
export const DatabaseSchemaQuery = t.Object(
  {
    kind: t.Literal('DatabaseSchemaQuery'),
    modifiers: optionally(Members),
    response: optionally(t.Unknown()),
    tags: optionally(t.Unknown()),
    version: optionally(t.Number()),
  },
  { additionalProperties: false },
)
export type DatabaseSchemaQuery = Static<typeof DatabaseSchemaQuery>

/** One line per kind. */
export const EDITOR_QUERIES = { HogQLMetadata, HogQLAutocomplete, DatabaseSchemaQuery } as const

type EditorSchemas = typeof EDITOR_QUERIES

/** Validated editor queries, by kind. */
export type EditorQueries = { readonly [Kind in keyof EditorSchemas]: Static<EditorSchemas[Kind]> }
