/**
 * Tables of the catalog and sub-selects as scope entries; the joins that a table's fields need are
 * added once, when first used.
 */

import { Refusal } from '../../../errors.ts'
import {
  type DerivedTable,
  type Output,
  type PhysicalColumn,
  type Relation,
  type ResolvedExpr,
  type ResolvedSelect,
  type Scan,
  type SpanEnd,
  selectFrom,
} from '../../sql/ir.ts'
import { field } from '../../syntax/nodes.ts'
import type {
  FieldDef,
  JoinDef,
  ScanDef,
  TableDef,
  TableSource,
  ViewDef,
} from '../../tables/definition.ts'
import { dateTimeType, type Type, withNull } from '../../types/types.ts'
import {
  innerScope,
  type NamedColumn,
  type Resolver,
  rowOf,
  type ScopeEntry,
  type ScopeMember,
} from '../scope.ts'

/** Opens a table of the catalog. */
export function openTable(table: TableDef, name: string | null, resolver: Resolver): ScopeEntry {
  let loose = false
  const opened = openRows(table, resolver, { isLoose: () => loose })
  const { source } = opened
  const open = (def: FieldDef, field_name: string): ScopeMember =>
    def.kind === 'row' ? rowOf(def, field_name, open) : { kind: 'value', expr: def.build(source) }
  return {
    name,
    merged: new Set(),
    united: new Map(),
    find: (field_name) => {
      const def = Object.hasOwn(table.fields, field_name)
        ? table.fields[field_name]
        : findGroupRow(table, field_name, resolver)
      return def === undefined ? null : open(def, field_name)
    },
    star: () =>
      Object.entries(table.fields).flatMap(([field_name, def]) =>
        def.kind === 'value' && def.is_starred
          ? [{ name: field_name, expr: def.build(source) }]
          : [],
      ),
    relation: opened.relation,
    loosen: () => {
      loose = true
    },
  }
}

/** The row of an event's group, by the name of the group's type. */
function findGroupRow(table: TableDef, name: string, { context }: Resolver): FieldDef | undefined {
  if (table.kind !== 'scan' || table.relation !== 'events') return undefined
  const index = context.group_types?.get(name)
  return index === undefined ? undefined : table.fields[`group_${index}`]
}

/** A table with the joins added so far; `relation` is called after every expression is resolved. */
type OpenedTable = { readonly source: TableSource; readonly relation: () => Relation }
/** A further left join; its right side may still grow. */
type LateJoin = { readonly right: () => Relation; readonly on: ResolvedExpr }
type SourceOptions = {
  readonly isLoose: () => boolean
  /** Joins of the table that this one is joined to; this one's are added there too. */
  readonly joins?: LateJoin[]
  readonly near?: SpanEnd
}

function openRows(table: TableDef, resolver: Resolver, opening: SourceOptions): OpenedTable {
  const own_joins: LateJoin[] = []
  const joins = opening.joins ?? own_joins
  const rows =
    table.kind === 'view' ? openView(table, resolver, opening) : openScan(table, resolver, opening)
  const joined = new Map<string, TableSource>()
  const source: TableSource = {
    ...rows,
    project_id: resolver.context.project_id,
    timezone: resolver.context.timezone,
    join: (name) => {
      const known = joined.get(name)
      if (known !== undefined) return known
      const def = table.joins[name]
      if (def === undefined) throw new Error(`a table has no join ${name}`)
      const right = openRows(def.table, resolver, {
        isLoose: () => true,
        joins,
        ...nearOf(def, source),
      })
      joined.set(name, right.source)
      // The condition may itself add joins: they must precede this one.
      const on = def.on(source, right.source)
      joins.push({ right: right.relation, on })
      return right.source
    },
  }
  return {
    source,
    relation: () =>
      own_joins.reduce<Relation>(
        (left, { right, on }) => ({ kind: 'join', join: 'LEFT', left, right: right(), on }),
        rows.relation(),
      ),
  }
}

function nearOf({ near }: JoinDef, parent: TableSource): Pick<SourceOptions, 'near'> {
  if (near === undefined) return {}
  const { relation, name } = parent.column(near, dateTimeType('UTC'))
  return { near: { relation, name } }
}

type SourceRows = Pick<TableSource, 'column' | 'computed'> & { readonly relation: () => Relation }

function openScan(table: ScanDef, resolver: Resolver, { isLoose }: SourceOptions): SourceRows {
  const rows = scan(table, resolver)
  return {
    column: (name: PhysicalColumn, type: Type) => ({
      kind: 'column',
      relation: rows.id,
      name,
      type: withNull(type, type.nullable || isLoose()),
    }),
    computed: (name) => {
      throw new Error(`${table.relation} does not compute ${name}`)
    },
    relation: () => rows,
  }
}

/** The only place that makes scans. */
function scan(table: ScanDef, resolver: Resolver): Scan {
  requireShown(table.relation, resolver)
  resolver.reads.add(table.relation)
  resolver.next.relation += 1
  return {
    kind: 'scan',
    id: resolver.next.relation,
    table: table.relation,
    project: resolver.guard,
    local_times: [],
  }
}

/** Refuses a table that this query may not read. */
export function requireShown(table: string, { context }: Resolver): void {
  if (!context.hidden_tables.includes(table)) return
  const detail = `You do not have access to what this query reads: ${table}.`
  throw new Refusal('permission_denied', detail)
}

// ── views ────────────────────────────────────────────────────────────────────────────────────

/** A view: a sub-select with the columns that the query uses. */
function openView(view: ViewDef, resolver: Resolver, { isLoose, near }: SourceOptions): SourceRows {
  const inner = openTable(view.of, null, resolver)
  const aliases = [...view.columns()].map(
    ([name, node]) => [name, { node, state: 'waiting' as const, expr: null }] as const,
  )
  const scope = innerScope(null, { entries: [inner], aliases: new Map(aliases) })
  const read = (name: string): ResolvedExpr => resolver.expr(field([name]), scope)
  resolver.next.relation += 1
  const id = resolver.next.relation
  const used = new Map<string, Output>()
  const output = (name: string): Output => {
    const known = used.get(name)
    if (known !== undefined) return known
    resolver.next.column += 1
    const made = { id: resolver.next.column, expr: read(name) }
    used.set(name, made)
    return made
  }
  const where = view.where(resolver.context)
  return {
    column: (name) => {
      throw new Error(`a view has no column ${name} of the engine`)
    },
    computed: (name) => {
      const { id: column, expr } = output(name)
      const type = withNull(expr.type, expr.type.nullable || isLoose())
      return { kind: 'column', relation: id, name: `c${column}`, type }
    },
    relation: () => {
      // A select needs a column, even when none is used.
      if (used.size === 0) output(view.columns().keys().next().value ?? '')
      const condition = where === null ? null : resolver.expr(where, scope)
      const keys = view.group_by.map(read)
      const query: ResolvedSelect = {
        ...selectFrom([...used.values()], inner.relation()),
        where: condition,
        group_by: keys.length === 0 ? null : { mode: 'plain', sets: [keys] },
      }
      return { kind: 'derived', id, query, ...spanOf(view, { id, used, near, time: read }) }
    },
  }
}

type SpannedTable = {
  readonly id: number
  readonly used: ReadonlyMap<string, Output>
  readonly near: SpanEnd | undefined
  readonly time: (name: string) => ResolvedExpr
}

function spanOf(view: ViewDef, { id, used, near, time }: SpannedTable): Pick<DerivedTable, 'span'> {
  if (view.instants.length === 0) return {}
  const column = time('timestamp')
  if (column.kind !== 'column') throw new Error('the rows of a view have no timestamp')
  const span_ends = view.instants.flatMap((name): readonly SpanEnd[] => {
    const output = used.get(name)
    return output === undefined ? [] : [{ relation: id, name: `c${output.id}` }]
  })
  return { span: { time: column, by: near === undefined ? span_ends : [...span_ends, near] } }
}

// ── sub-selects ──────────────────────────────────────────────────────────────────────────────

/** Rows with named columns: a sub-select, a CTE, VALUES, numbers(). */
export function openColumns(
  name: string | null,
  columns: readonly NamedColumn[],
  relation: Relation & { readonly id: number },
): ScopeEntry {
  let loose = false
  // Of several columns with one name the first counts.
  const by_name = new Map(columns.toReversed().map((column) => [column.name, column]))
  const read = (column: NamedColumn): ResolvedExpr => ({
    kind: 'column',
    relation: relation.id,
    name: `c${column.id}`,
    type: withNull(column.type, column.type.nullable || loose),
  })
  return {
    name,
    merged: new Set(),
    united: new Map(),
    find: (column_name) => {
      const column = by_name.get(column_name)
      return column === undefined ? null : { kind: 'value', expr: read(column) }
    },
    star: () => columns.map((column) => ({ name: column.name, expr: read(column) })),
    relation: () => relation,
    loosen: () => {
      loose = true
    },
  }
}
