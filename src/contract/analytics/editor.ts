/** What editors of queries ask: is this one right, what may follow here, what tables are there. */
import { type Static, type TSchema, t } from 'elysia'

const optionally = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Nullable(schema))
const Members = t.Record(t.String(), t.Unknown())
const Offset = t.Number({ multipleOf: 1, minimum: 0 })

/** How much text an editor may send; what the parser takes is less. */
const TEXT_LENGTH_MAX = 1_000_000

/** What the text is: a whole query, one expression, a text with expressions in braces. */
const Language = t.UnionEnum(['hogQL', 'hogQLExpr', 'hogTemplate'])

/** Members that editors of every kind send along. */
const common = {
  language: Language,
  query: t.String({ maxLength: TEXT_LENGTH_MAX }),
  /** The query that an expression belongs to. */
  sourceQuery: optionally(t.Object({ kind: t.String() }, { additionalProperties: true })),
  /** Names that stand for values where the text will be used. */
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

/** What was sent, by kind, its shape checked. */
export type EditorQueries = { readonly [Kind in keyof EditorSchemas]: Static<EditorSchemas[Kind]> }
