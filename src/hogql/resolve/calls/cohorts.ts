/** `x IN COHORT`: membership of a person in a cohort, by the cohort's id or name. */

import type { CohortReference } from '../../context.ts'
import { queryColumns, type ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment } from '../../sql/sql-fragments.ts'
import type * as ast from '../../syntax/ast.ts'
import { field, integer } from '../../syntax/nodes.ts'
import { select } from '../../template.ts'
import { TRUTH } from '../../types/types.ts'
import { requireShown } from '../from/sources.ts'
import { refuse, suggestName } from '../refusals.ts'
import type { NameScope, Resolver } from '../scope.ts'

/** The work charged for a cohort: its select goes through every pass, which takes as long as 50 expressions. */
const COHORT_PARTS = 50

/** Resolves `x IN COHORT 5`, `x NOT IN COHORT 'name'`. Refuses unknown cohorts and ambiguous names. */
export function resolveInCohort(
  node: ast.CompareOperation,
  scope: NameScope,
  resolver: Resolver,
): ResolvedExpr {
  resolver.spend(COHORT_PARTS, node)
  const cohort = cohortNamed(node, resolver)
  const left = resolver.expr(node.left, scope)
  const table = field([cohort.is_static ? 'static_cohort_people' : 'cohort_people'])
  const members = select`
    select person_id from ${table} where cohort_id = ${integer(cohort.id)}`
  // Resolved in the root scope: the query's CTE names must not shadow the catalog's tables.
  const { query } = resolver.query(members, resolver.root)
  const [column] = queryColumns(query)
  if (column === undefined) throw new Error('members of cohorts have an id')
  const rows: ResolvedExpr = { kind: 'subquery', form: 'rows', query, type: column.type }
  return applyFragment(node.op === 'not in cohort' ? 'notIn' : 'in', [left, rows], TRUTH)
}

function cohortNamed({ right }: ast.CompareOperation, resolver: Resolver): CohortReference {
  const { context } = resolver
  // Before any name: a refusal tells whether there is such a cohort.
  requireShown('cohort_people', resolver)
  const value = right.kind === 'Constant' ? right.value : null
  if (typeof value !== 'bigint' && typeof value !== 'string') {
    throw refuse('IN COHORT needs the id or the name of a cohort as a constant', right)
  }
  const all = context.cohorts?.() ?? []
  const matches = all.filter((cohort) =>
    typeof value === 'bigint' ? BigInt(cohort.id) === value : cohort.name === value,
  )
  const [only] = matches
  if (matches.length > 1) throw refuse(`Found multiple cohorts with name '${value}'`, right)
  if (only !== undefined) return only
  if (typeof value === 'bigint') throw refuse(`Could not find cohort with ID ${value}`, right)
  const is_hidden = context.hidden_tables.includes('system.cohorts')
  const names = is_hidden ? [] : all.map((cohort) => cohort.name)
  const hint = suggestName(value, names)
  throw refuse(`Could not find a cohort with the name '${value}'${hint}`, right)
}
