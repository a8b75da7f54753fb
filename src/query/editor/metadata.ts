/** HogQLMetadata: is a text right, and if not, where; what it reads and answers. */
import type { HogQLMetadata } from '../../contract/analytics/editor.ts'
import { BudgetExceeded, type CompileBudget } from '../../hogql/budget.ts'
import { runApart } from '../compiling/compiler.ts'
import { sendAsking } from '../compiling/send-asking.ts'
import type { DetectedOwner } from '../definitions.ts'
import { type EditorContext, ownerOf, typeKey } from './editor-context.ts'
import {
  type MetadataNotice,
  type NamedProperty,
  readFacts,
  type TextFacts,
  textOf,
} from './text-facts.ts'

/** Reads a text as its language says. The answer says what is wrong; nothing is refused. */
export async function readMetadata(query: HogQLMetadata, context: EditorContext): Promise<object> {
  const { named, ...facts } = await factsOf(query, context)
  return {
    query: query.query,
    ...facts,
    ...remarks(named, context),
    query_status: null,
  }
}

/** Longer texts are read on the Worker: a text with faults is compiled once for each of them. */
const INLINE_LENGTH_MAX = 1_000
/** What one of these compilations may be where requests are answered. */
const INLINE_TRY: CompileBudget = { work_max: 400, nodes_max: 400 }

async function factsOf(sent_query: HogQLMetadata, context: EditorContext): Promise<TextFacts> {
  const { query, sourceQuery } = sent_query
  const source = textOf(sourceQuery)
  const text = `${query}\n${source ?? ''}`
  const { now } = context
  try {
    if (text.length <= INLINE_LENGTH_MAX) return readFacts(sent_query, context, INLINE_TRY)
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  const { language } = sent_query
  const subject = { kind: 'text', text, values: new Map(), filters: null } as const
  const raw_input = { language, query, sourceQuery: source === null ? null : { query: source } }
  const input = { query: raw_input, asking: sendAsking(subject, context), now }
  return runApart({ kind: 'facts', input }, context.project.id)
}

/** What is known about the properties that a text names: their types, and those nobody has ever sent. */
function remarks(
  named: readonly NamedProperty[],
  context: EditorContext,
): { readonly warnings: readonly MetadataNotice[]; readonly notices: readonly MetadataNotice[] } {
  const warnings: MetadataNotice[] = []
  const notices: MetadataNotice[] = []
  const input = new Map<DetectedOwner, ReadonlySet<string>>()
  const namesOf = (owner: DetectedOwner): ReadonlySet<string> => {
    const known =
      input.get(owner) ?? new Set(context.listProperties(owner).map((property) => property.name))
    input.set(owner, known)
    return known
  }
  for (const { row, name, start, end } of named) {
    const owner = ownerOf(row)
    if (owner === null) continue
    const type = context.property_types.get(typeKey(owner, name))
    const what = `${WORDS[owner.kind]} property ${JSON.stringify(name)}`
    if (type !== undefined) notices.push({ start, end, message: `${what} is of type ${type}.` })
    else if (!namesOf(owner).has(name)) {
      warnings.push({ start, end, message: `${what} was never sent.` })
    }
  }
  return { warnings, notices }
}

const WORDS = { event: 'Event', person: 'Person', group: 'Group' } as const
