/**
 * Finds the words of a query that may name definitions (actions, cohorts, resources, filters): its meaning depends on
 * these besides its text. Words are in lower case.
 */
import type { Node, Select } from './ast.ts'
import { visitNodes } from './walk.ts'

/** The word of a placeholder `{filters}`, also of `{filters.dateRange.from}`. */
export const FILTERS_WORD = '{filters}'

/** The word of `IN COHORT`. */
const COHORT_WORD = 'in cohort'
/** The tables whose rows depend on the list of cohorts. */
const COHORT_TABLES = ['cohort_people', 'raw_cohort_people', 'static_cohort_people']

/** Whether a query of these words may depend on the project's cohorts. */
export function namesCohorts(words: ReadonlySet<string>): boolean {
  return words.has(COHORT_WORD) || COHORT_TABLES.some((name) => words.has(name))
}

/** The word of `matchesAction(…)`. */
export const ACTION_WORD = 'matchesaction'

/** Trees are immutable, and the parser's cache keeps those of frequent texts. */
const words_of_trees = new WeakMap<Select, ReadonlySet<string>>()

/** Collects the words of a tree: names of fields, tables, calls and placeholders. Calls `onNode` for each node, unless they are known. */
export function wordsOfTree(tree: Select, onNode?: () => void): ReadonlySet<string> {
  const known = words_of_trees.get(tree)
  if (known !== undefined) return known
  const words = new Set<string>()
  visitNodes(tree, (node) => {
    onNode?.()
    for (const word of wordsOf(node)) words.add(word.toLowerCase())
  })
  words_of_trees.set(tree, words)
  return words
}

function wordsOf(node: Node): readonly string[] {
  if (node.kind === 'Field') return node.chain
  if (node.kind === 'Call') return [node.name]
  if (node.kind === 'CompareOperation') return node.op.endsWith(COHORT_WORD) ? [COHORT_WORD] : []
  if (node.kind !== 'Placeholder' || node.expr.kind !== 'Field') return []
  return [`{${node.expr.chain[0] ?? ''}}`]
}

/**
 * Collects the words of a caller's text that is too long to be parsed here. Words in texts and comments are among them, so
 * a text may seem to name more than it does.
 */
export function wordsOfText(text: string): ReadonlySet<string> {
  const words = new Set(text.toLowerCase().split(/\W+/))
  if (words.has('cohort')) words.add(COHORT_WORD)
  if (words.has('filters')) words.add(FILTERS_WORD)
  return words
}
