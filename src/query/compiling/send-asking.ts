/** What is known about a project → the data that one compilation may read, so that it can be sent to a Worker. */

import { Refusal } from '../../errors.ts'
import type { Node, Select } from '../../hogql/ast.ts'
import { BudgetExceeded, FULL_BUDGET } from '../../hogql/budget.ts'
import {
  RESOURCE_NAMES,
  type ResourceName,
  type ResourceRow,
} from '../../hogql/tables/resources.ts'
import { visitNodes } from '../../hogql/walk.ts'
import { PROPERTY_COLUMNS } from '../../storage/files/definition-reader.ts'
import { refusalToData, type SentRefusal } from '../../threads/messages.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import { type CompileSubject, NAMES_ACTIONS, type SentAsking } from './compile-job.ts'

/** Copies what the subject may read. Refuses a tree that no budget compiles. */
export function sendAsking(subject: CompileSubject, context: QueryContext): SentAsking {
  const { id, timezone, week_start_day } = context.project
  const words = subject.kind === 'text' ? subject.text : wordsOf(subject.tree)
  const { resources } = context
  const named = RESOURCE_NAMES.filter((name) => words.includes(name.split('.').at(-1) ?? name))
  return {
    project: { id, timezone, week_start_day },
    property_types: context.property_types,
    has_property_columns: context.property_columns === PROPERTY_COLUMNS,
    cohorts: /cohort/i.test(words) ? (context.cohorts ?? []) : [],
    actions: NAMES_ACTIONS.test(words) ? (context.actions ?? []) : [],
    resources: new Map(
      named.map((name) => [name, resources === undefined ? [] : rowsOf(name, resources)]),
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
    // The name may be no table where it stands: the refusal is for a compilation that looks at the rows.
    if (error instanceof Refusal) return refusalToData(error)
    throw error
  }
}

/** The names in a tree, one a line. */
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
