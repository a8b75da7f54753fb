/** QueryContext → SentContext: copies the definitions that one compilation may read, to send them to the compile thread. */

import { Refusal } from '../../errors.ts'
import type { Node, Select } from '../../hogql/ast.ts'
import { BudgetExceeded, FULL_BUDGET } from '../../hogql/budget.ts'
import {
  RESOURCE_NAMES,
  type ResourceName,
  type ResourceRow,
} from '../../hogql/tables/resources.ts'
import { visitNodes } from '../../hogql/walk.ts'
import { refusalToData, type SentRefusal } from '../../threads/messages.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import { type CompileSubject, NAMES_ACTIONS, type SentContext } from './compile-job.ts'

/** Copies what the subject may read. Throws BudgetExceeded for a tree beyond the full budget. */
export function sendContext(subject: CompileSubject, context: QueryContext): SentContext {
  const { id, timezone, week_start_day } = context.project
  const words = subject.kind === 'text' ? subject.text : wordsOf(subject.tree)
  const { resources } = context
  const resource_names = RESOURCE_NAMES.filter((name) =>
    words.includes(name.split('.').at(-1) ?? name),
  )
  return {
    project: { id, timezone, week_start_day },
    property_types: context.property_types,
    group_types: context.group_types ?? new Map(),
    cohorts: /cohort/i.test(words) ? (context.cohorts ?? []) : [],
    actions: NAMES_ACTIONS.test(words) ? (context.actions ?? []) : [],
    resources: new Map(
      resource_names.map((name) => [name, resources === undefined ? [] : rowsOf(name, resources)]),
    ),
    rows_max: context.rows_max,
  }
}

function rowsOf(
  name: ResourceName,
  resources: NonNullable<QueryContext['resources']>,
): readonly ResourceRow[] | SentRefusal {
  try {
    return resources(name)
  } catch (error) {
    // The word may not name a table here: only a compilation that reads the rows throws the refusal.
    if (error instanceof Refusal) return refusalToData(error)
    throw error
  }
}

/** Collects the names in a tree, one per line. */
function wordsOf(tree: Select): string {
  const words = new Set<string>()
  let nodes = 0
  visitNodes(tree, (node) => {
    nodes += 1
    if (nodes > FULL_BUDGET.nodes_max) throw new BudgetExceeded({})
    for (const word of wordsIn(node)) words.add(word)
  })
  return [...words].join('\n')
}

function wordsIn(node: Node): readonly string[] {
  if (node.kind === 'Field') return node.chain
  if (node.kind === 'Call') return [node.name]
  return node.kind === 'CompareOperation' ? [node.op] : []
}
