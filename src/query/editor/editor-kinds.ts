/** EDITOR_KINDS: the queries of SQL editors, answered without the engine and the cache. */
import type { EditorQueries } from '../../contract/analytics/editor.ts'
import { suggestCompletions } from './autocomplete.ts'
import { readDatabaseSchema } from './database-schema.ts'
import type { EditorContext } from './editor-context.ts'
import { readMetadata } from './metadata.ts'

export type EditorKind = keyof EditorQueries

/** One line per kind. */
const EDITOR_KINDS: {
  readonly [Kind in EditorKind]: (
    query: EditorQueries[Kind],
    context: EditorContext,
  ) => object | Promise<object>
} = {
  HogQLMetadata: readMetadata,
  HogQLAutocomplete: suggestCompletions,
  DatabaseSchemaQuery: readDatabaseSchema,
}

/** True for kinds in EDITOR_KINDS. */
export function isEditorKind(kind: unknown): kind is EditorKind {
  return typeof kind === 'string' && Object.hasOwn(EDITOR_KINDS, kind)
}

/** Answers an editor's query, after validation, with a JSON object. */
export function answerEditor<Kind extends EditorKind>(
  kind: Kind,
  query: EditorQueries[Kind],
  context: EditorContext,
): object | Promise<object> {
  return EDITOR_KINDS[kind](query, context)
}
