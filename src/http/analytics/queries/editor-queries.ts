/**
 * Queries of the SQL editor (autocompletion, metadata, schema): computed at once, whatever `refresh` contains.
 */
import type { TSchema } from 'elysia'
import { EDITOR_QUERIES, type EditorQueries } from '../../../contract/analytics/editor.ts'
import type { Refusal } from '../../../errors.ts'
import { isShown, rightsAt } from '../../../projects/rights/rights.ts'
import { answerEditor, type EditorKind } from '../../../query/editor/editor-kinds.ts'
import { JSON_HEADERS } from '../../answers/answers.ts'
import type { AppContext } from '../../app-context.ts'
import { type Fault, type Validator, validatorOf } from '../../bodies/shape.ts'
import { type QueryCaller, queryContext } from './query-context.ts'

const EDITOR_SHAPES: ReadonlyMap<string, Validator<TSchema>> = new Map(
  Object.entries<TSchema>(EDITOR_QUERIES).map(([kind, schema]) => [kind, validatorOf(schema)]),
)

type EditorQueryCall = {
  readonly kind: EditorKind
  readonly query: object
  /** Turns a fault of the query's shape into a refusal. */
  readonly refuse: (fault: Fault) => Refusal
}

/** Answers an editor's query. Refuses an invalid shape, and positions outside of its text. */
export async function answerEditorQuery(
  app: AppContext,
  call: QueryCaller,
  { kind, query, refuse }: EditorQueryCall,
): Promise<Response> {
  const shape = EDITOR_SHAPES.get(kind)
  if (shape === undefined) throw new Error(`no shape for ${kind}`)
  const sent_query = shape.require(query, refuse) as EditorQueries[EditorKind]
  const rights = rightsAt(app.control, call.caller, call)
  const { id } = call.project
  const shows_events = isShown(rights, 'editor.events')
  const shows_properties = isShown(rights, 'editor.properties')
  const answer = await answerEditor(kind, sent_query, {
    ...queryContext(app, call),
    now: app.now(),
    listEvents: () => (shows_events ? app.definitions.listEvents(id) : []),
    listProperties: (owner) => (shows_properties ? app.definitions.listProperties(id, owner) : []),
  })
  return new Response(JSON.stringify(answer), { headers: JSON_HEADERS })
}
