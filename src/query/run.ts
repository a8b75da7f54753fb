/** Every kind of question there is, and how each is read; those about behaviour are listed in `INSIGHTS`. */
import { Refusal } from '../errors.ts'
import { type InsightName, isInsight } from '../insights/kinds.ts'
import { type HogQLQuestion, prepareHogQL } from './kinds/hogql.ts'
import { type InsightQuestion, prepareInsight } from './kinds/insight.ts'
import type { Asking, Overrides, Prepared } from './prepared.ts'

/** A question of any kind, its shape already checked. */
export type Question = HogQLQuestion | InsightQuestion

export type Kind = 'HogQLQuery' | InsightName

/** Nodes that only say how an answer is shown: their `source` is the question. */
const WRAPPERS: ReadonlySet<unknown> = new Set([
  'DataTableNode',
  'DataVisualizationNode',
  'InsightVizNode',
])

/** A wrapper in a wrapper is as deep as clients go. */
const WRAPPERS_MAX = 3

/** A question as it was sent, and in how many nodes it was wrapped. */
export type Unwrapped = { readonly kind: Kind; readonly query: object; readonly depth: number }

/** Finds the question inside its wrappers. Refuses kinds there are not, and wrappers around nothing. */
export function unwrapQuery(sent: object, depth = 0): Unwrapped {
  const kind: unknown = 'kind' in sent ? sent.kind : undefined
  const attr = `query__${'source__'.repeat(depth)}`
  if (WRAPPERS.has(kind)) {
    const source: unknown = 'source' in sent ? sent.source : undefined
    if (typeof source === 'object' && source !== null && depth < WRAPPERS_MAX) {
      return unwrapQuery(source, depth + 1)
    }
    const detail = `${String(kind)} needs a query as its source.`
    throw new Refusal('invalid_input', detail, { attr: `${attr}source` })
  }
  if (isKind(kind)) return { kind, query: sent, depth }
  const name = typeof kind === 'string' ? kind : 'none'
  const detail = `Unsupported query kind: ${name.slice(0, 100)}`
  throw new Refusal('invalid_input', detail, { attr: `${attr}kind` })
}

function isKind(kind: unknown): kind is Kind {
  return typeof kind === 'string' && (kind === 'HogQLQuery' || isInsight(kind))
}

/** Reads a question of any kind. Refuses what its kind refuses. */
export function prepareQuestion(
  question: Question,
  overrides: Overrides,
  asking: Asking,
): Prepared {
  return question.kind === 'HogQLQuery'
    ? prepareHogQL(question, overrides, asking)
    : prepareInsight(question, asking)
}
