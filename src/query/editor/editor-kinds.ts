/** EDITOR_KINDS: what editors of queries ask; answered at once from what is known, without the engine and the cache. */
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

/** True of kinds that are answered here. */
export function isEditorKind(kind: unknown): kind is EditorKind {
  return typeof kind === 'string' && Object.hasOwn(EDITOR_KINDS, kind)
}

/** Answers a query of an editor, its shape already checked, as a JSON object. */
export function answerEditor<Kind extends EditorKind>(
  kind: Kind,
  query: EditorQueries[Kind],
  context: EditorContext,
): object | Promise<object> {
  return EDITOR_KINDS[kind](query, context)
}
