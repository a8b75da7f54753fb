/** HogQLMetadata: is a text right, and if not, where; what it reads and answers. Interface §4.3. */
import type { HogQLMetadata } from '../../contract/editor.ts'
import { BudgetExceeded, type CompileBudget } from '../../hogql/budget.ts'
import { runApart } from '../compiling/compiler.ts'
import { sendAsking } from '../compiling/send-asking.ts'
import type { PropertyOwner } from '../definitions.ts'
import { type EditorAsking, ownerOf, typeKey } from './asking.ts'
import { type NamedProperty, type Notice, readFacts, type TextFacts, textOf } from './text-facts.ts'

/** Reads a text as its language says. The answer says what is wrong; nothing is refused. */
export async function readMetadata(question: HogQLMetadata, asking: EditorAsking): Promise<object> {
  const { named, ...facts } = await factsOf(question, asking)
  return {
    query: question.query,
    ...facts,
    ...remarks(named, asking),
    query_status: null,
  }
}

/** Longer texts are read on the Worker: a text with faults is compiled once for each of them. */
const INLINE_LENGTH_MAX = 1_000
/** What one of these compilations may be where requests are answered. */
const INLINE_TRY: CompileBudget = { work_max: 400, nodes_max: 400 }

async function factsOf(question: HogQLMetadata, asking: EditorAsking): Promise<TextFacts> {
  const { query, sourceQuery } = question
  const source = textOf(sourceQuery)
  const text = `${query}\n${source ?? ''}`
  const { now } = asking
  try {
    if (text.length <= INLINE_LENGTH_MAX) return readFacts(question, asking, INLINE_TRY)
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
  }
  const { language } = question
  const subject = { kind: 'text', text, values: new Map(), filters: null } as const
  const sent = { language, query, sourceQuery: source === null ? null : { query: source } }
  const input = { question: sent, asking: sendAsking(subject, asking), now }
  return runApart({ kind: 'facts', input }, asking.project.id)
}

/** What is known about the properties that a text names: their types, and those nobody has ever sent. */
function remarks(
  named: readonly NamedProperty[],
  asking: EditorAsking,
): { readonly warnings: readonly Notice[]; readonly notices: readonly Notice[] } {
  const warnings: Notice[] = []
  const notices: Notice[] = []
  const sent = new Map<PropertyOwner, ReadonlySet<string>>()
  const namesOf = (owner: PropertyOwner): ReadonlySet<string> => {
    const known =
      sent.get(owner) ?? new Set(asking.listProperties(owner).map((property) => property.name))
    sent.set(owner, known)
    return known
  }
  for (const { row, name, start, end } of named) {
    const owner = ownerOf(row)
    if (owner === null) continue
    const type = asking.property_types.get(typeKey(owner, name))
    const what = `${WORDS[owner.kind]} property ${JSON.stringify(name)}`
    if (type !== undefined) notices.push({ start, end, message: `${what} is of type ${type}.` })
    else if (!namesOf(owner).has(name)) {
      warnings.push({ start, end, message: `${what} was never sent.` })
    }
  }
  return { warnings, notices }
}

const WORDS = { event: 'Event', person: 'Person', group: 'Group' } as const
