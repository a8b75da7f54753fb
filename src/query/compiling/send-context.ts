/** QueryContext → SentContext: copies the definitions that one compilation may read, to send them to the compile thread. */

import { Refusal } from '../../errors.ts'
import { BudgetExceeded, FULL_BUDGET } from '../../hogql/budget.ts'
import type { Select } from '../../hogql/syntax/ast.ts'
import {
  ACTION_WORD,
  COHORT_WORD,
  wordsOfText,
  wordsOfTree,
} from '../../hogql/syntax/named-words.ts'
import {
  RESOURCE_NAMES,
  type ResourceName,
  type ResourceRow,
} from '../../hogql/tables/resources.ts'
import { refusalToData, type SentRefusal } from '../../threads/messages.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import type { CompileSubject, SentContext } from './compile-job.ts'

/** Copies the parts of a context that the subject may read. Throws BudgetExceeded for a tree beyond the full budget. */
export function sendContext(subject: CompileSubject, context: QueryContext): SentContext {
  const { id, timezone, week_start_day } = context.project
  const words = subject.kind === 'text' ? wordsOfText(subject.text) : budgetedWords(subject.tree)
  const { resources } = context
  const resource_names = RESOURCE_NAMES.filter((name) => words.has(name.split('.').at(-1) ?? name))
  return {
    project: { id, timezone, week_start_day },
    property_types: context.property_types,
    clickhouse: context.clickhouse ?? null,
    group_types: context.group_types ?? new Map(),
    cohorts: words.has(COHORT_WORD) ? (context.cohorts ?? []) : [],
    actions: words.has(ACTION_WORD) ? (context.actions ?? []) : [],
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

/** The words of a tree within the full budget. */
function budgetedWords(tree: Select): ReadonlySet<string> {
  let nodes = 0
  return wordsOfTree(tree, () => {
    nodes += 1
    if (nodes > FULL_BUDGET.nodes_max) throw new BudgetExceeded({})
  })
}
