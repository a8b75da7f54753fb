/** Tables whose rows come with the compile context: each column is bound as one list. */

import type { LocalExpr, ResolvedExpr } from '../../sql/ir.ts'
import { applyFragment, bindInt, bindText } from '../../sql/sql-fragments.ts'
import { type ResourceKind, type ResourceName, resourceColumns } from '../../tables/resources.ts'
import {
  arrayType,
  BOOL,
  dateTimeType,
  INT64,
  STRING,
  type Type,
  UNKNOWN,
  withNull,
} from '../../types/types.ts'
import type { Resolver, ScopeEntry } from '../scope.ts'
import { openColumns, requireShown } from './sources.ts'

/** Opens the table of that name; null when it is none of these. */
export function openResource(
  name: string,
  alias: string | null,
  resolver: Resolver,
): ScopeEntry | null {
  const columns = resourceColumns(name)
  if (columns === null) return null
  requireShown(name, resolver)
  const { resources, timezone } = resolver.context
  const texts = resources?.(name as ResourceName) ?? {}
  const named = Object.entries(columns)
  const lists = named.map(([column, kind]) => listOf(texts[column] ?? '[]', kind, timezone))
  resolver.next.relation += 1
  const relation = { kind: 'unnest', id: resolver.next.relation, lists } as const
  const entry = openColumns(
    alias,
    named.map(([column, kind], index) => ({
      name: column,
      id: index + 1,
      type: resourceType(kind, timezone),
    })),
    relation,
  )
  return withTeam(entry, resolver.context.project_id)
}

/** `team_id` is not part of `*`, as in all tables. */
function withTeam(entry: ScopeEntry, project_id: number): ScopeEntry {
  return {
    ...entry,
    find: (name) =>
      name === 'team_id' ? { kind: 'value', expr: bindInt(project_id, true) } : entry.find(name),
  }
}

/** The type of a column. */
export function resourceType(kind: ResourceKind, timezone: string): Type {
  switch (kind) {
    case 'integer':
      return withNull(INT64)
    case 'json':
      return { kind: 'json', owner: 'resource', nullable: true }
    case 'text':
      return withNull(STRING)
    case 'time':
      return withNull(dateTimeType(timezone))
    case 'truth':
      return withNull(BOOL)
  }
}

function listOf(text: string, kind: ResourceKind, timezone: string): ResolvedExpr {
  const json = bindText(text)
  const type = arrayType(resourceType(kind, timezone))
  const texts = (of: string, item: Type): ResolvedExpr =>
    applyFragment('JSONExtract', [json, bindText(`Array(Nullable(${of}))`)], arrayType(item))
  switch (kind) {
    case 'integer':
      return texts('Int64', withNull(INT64))
    case 'json':
      return applyFragment('asType', [texts('String', withNull(STRING))], type)
    case 'text':
      return texts('String', withNull(STRING))
    case 'time':
      return moments(texts('Int64', withNull(INT64)), withNull(dateTimeType(timezone)))
    case 'truth':
      return texts('Bool', withNull(BOOL))
  }
}

/** Milliseconds as instants. */
function moments(list: ResolvedExpr, type: Type): ResolvedExpr {
  const each: LocalExpr = { kind: 'local', id: -79, type: withNull(INT64) }
  const body = applyFragment('fromUnixTimestamp64Milli', [each], type)
  const lambda: ResolvedExpr = { kind: 'lambda', locals: [each], body, type: UNKNOWN }
  return applyFragment('arrayMap', [lambda, list], arrayType(type))
}
