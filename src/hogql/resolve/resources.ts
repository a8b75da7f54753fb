/** Tables whose rows come with the question, not from the engine: each column is one bound list. */

import type { Expr, Local } from '../ir.ts'
import { applied, bindInt, bindText } from '../spell.ts'
import {
  type ResourceKind,
  type ResourceName,
  type ResourceRow,
  resourceColumns,
} from '../tables/resources.ts'
import {
  arrayType,
  BOOL,
  dateTimeType,
  INT64,
  STRING,
  type Type,
  UNKNOWN,
  withNull,
} from '../types.ts'
import type { Entry, Resolver } from './scope.ts'
import { openColumns, requireShown } from './sources.ts'

/** The table of that name, null when it is none of these. */
export function openResource(name: string, alias: string | null, resolver: Resolver): Entry | null {
  const columns = resourceColumns(name)
  if (columns === null) return null
  requireShown(name, resolver)
  const { resources, timezone } = resolver.context
  const rows = resources?.(name as ResourceName) ?? []
  const named = Object.entries(columns)
  const lists = named.map(([column, kind]) => listOf(rows, column, { kind, timezone }))
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

/** `team_id` is asked for by name only, as everywhere. */
function withTeam(entry: Entry, project_id: number): Entry {
  return {
    ...entry,
    find: (name) =>
      name === 'team_id' ? { kind: 'value', expr: bindInt(project_id, true) } : entry.find(name),
  }
}

/** The type of a column of such a table. */
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

type Holding = { readonly kind: ResourceKind; readonly timezone: string }

function listOf(rows: readonly ResourceRow[], column: string, { kind, timezone }: Holding): Expr {
  const json = bindText(JSON.stringify(rows.map((row) => row[column] ?? null)))
  const type = arrayType(resourceType(kind, timezone))
  const texts = (of: string, item: Type): Expr =>
    applied('JSONExtract', [json, bindText(`Array(Nullable(${of}))`)], arrayType(item))
  switch (kind) {
    case 'integer':
      return texts('Int64', withNull(INT64))
    case 'json':
      return applied('asType', [texts('String', withNull(STRING))], type)
    case 'text':
      return texts('String', withNull(STRING))
    case 'time':
      return moments(texts('Int64', withNull(INT64)), withNull(dateTimeType(timezone)))
    case 'truth':
      return texts('Bool', withNull(BOOL))
  }
}

/** Milliseconds as instants. */
function moments(list: Expr, type: Type): Expr {
  const each: Local = { kind: 'local', id: -79, type: withNull(INT64) }
  const body = applied('fromUnixTimestamp64Milli', [each], type)
  const lambda: Expr = { kind: 'lambda', locals: [each], body, type: UNKNOWN }
  return applied('arrayMap', [lambda, list], arrayType(type))
}
