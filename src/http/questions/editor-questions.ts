/** What editors of questions ask: answered at once, whatever `refresh` says. Interface §4.3. */
import type { TSchema } from 'elysia'
import { EDITOR_QUERIES, type EditorQueries } from '../../contract/editor.ts'
import type { Refusal } from '../../errors.ts'
import { answerEditor, type EditorKind } from '../../query/editor/kinds.ts'
import { JSON_HEADERS } from '../answers.ts'
import type { Needs } from '../needs.ts'
import { type Fault, type Shape, shapeOf } from '../shape.ts'
import { type Asks, askingOf } from './asking.ts'

const EDITOR_SHAPES: ReadonlyMap<string, Shape<TSchema>> = new Map(
  Object.entries<TSchema>(EDITOR_QUERIES).map(([kind, schema]) => [kind, shapeOf(schema)]),
)

export type EditorAsked = {
  readonly kind: EditorKind
  readonly query: object
  /** Words a fault of the question's shape. */
  readonly refuse: (fault: Fault) => Refusal
}

/** Answers it. Refuses a question of another shape than its kind has, and positions outside of its text. */
export async function answerEditorQuestion(
  needs: Needs,
  asks: Asks,
  { kind, query, refuse }: EditorAsked,
): Promise<Response> {
  const shape = EDITOR_SHAPES.get(kind)
  if (shape === undefined) throw new Error(`no shape for ${kind}`)
  const question = shape.require(query, refuse) as EditorQueries[EditorKind]
  const answer = await answerEditor(kind, question, {
    ...askingOf(needs, asks),
    now: needs.now(),
    listEvents: () => needs.definitions.listEvents(asks.project.id),
    listProperties: (owner) => needs.definitions.listProperties(asks.project.id, owner),
  })
  return new Response(JSON.stringify(answer), { headers: JSON_HEADERS })
}
