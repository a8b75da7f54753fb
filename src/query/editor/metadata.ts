/** HogQLMetadata: whether a text is valid, the positions of errors, its tables and columns. */
import type { HogQLMetadata } from '../../contract/analytics/editor.ts'
import { BudgetExceeded, type CompileBudget } from '../../hogql/budget.ts'
import { wordsOfText } from '../../hogql/syntax/named-words.ts'
import { sendContext } from '../compiling/compile-job.ts'
import { runOnCompileThread } from '../compiling/compiler.ts'
import type { DetectedOwner } from '../definitions.ts'
import { type EditorContext, ownerOf, typeKey } from './editor-context.ts'
import {
  type MetadataNotice,
  type NamedProperty,
  readFacts,
  sourceText,
  type TextFacts,
} from './text-facts.ts'

/** Answers a query; an invalid text is an answer with errors, not a refusal. */
export async function readMetadata(query: HogQLMetadata, context: EditorContext): Promise<object> {
  const { named, ...facts } = await factsOf(query, context)
  return {
    query: query.query,
    ...facts,
    ...propertyNotices(named, context),
    query_status: null,
  }
}

/** Longer texts are read on the compile thread: a text is compiled once per error. */
const INLINE_LENGTH_MAX = 1_000
/** The budget of one inline compilation. */
const INLINE_TRY: CompileBudget = { work_max: 400, nodes_max: 400 }

async function factsOf(sent_query: HogQLMetadata, context: EditorContext): Promise<TextFacts> {
  const { query, sourceQuery } = sent_query
  const source = sourceText(sourceQuery)
  const text = `${query}\n${source ?? ''}`
  const { now } = context
  try {
    if (text.length <= INLINE_LENGTH_MAX) return readFacts(sent_query, context, INLINE_TRY)
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  const { language } = sent_query
  const raw_input = { language, query, sourceQuery: source === null ? null : { query: source } }
  const input = { query: raw_input, context: sendContext(wordsOfText(text), context), now }
  return runOnCompileThread({ kind: 'facts', input }, context.project.id)
}

/** Builds notices about the types of named properties, and warnings about properties that no event has. */
function propertyNotices(
  named: readonly NamedProperty[],
  context: EditorContext,
): { readonly warnings: readonly MetadataNotice[]; readonly notices: readonly MetadataNotice[] } {
  const warnings: MetadataNotice[] = []
  const notices: MetadataNotice[] = []
  const names_by_owner = new Map<DetectedOwner, ReadonlySet<string>>()
  const namesOf = (owner: DetectedOwner): ReadonlySet<string> => {
    const names =
      names_by_owner.get(owner) ??
      new Set(context.listProperties(owner).map((property) => property.name))
    names_by_owner.set(owner, names)
    return names
  }
  for (const { row, name, start, end } of named) {
    const owner = ownerOf(row, context)
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
