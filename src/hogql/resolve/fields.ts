/** Name binding: the alias, column, row, property or tuple item that a dotted name refers to. */

import { elementOf, isOfTuples } from '../functions/lists/tuples.ts'
import type { ColumnExpr, PhysicalColumn, Property, ResolvedExpr } from '../sql/ir.ts'
import { applyFragment, bindInt, bindText } from '../sql/sql-fragments.ts'
import type * as ast from '../syntax/ast.ts'
import { GROUP_COLUMNS } from '../tables/groups.ts'
import { tupleItem } from '../types/convert.ts'
import {
  BOOL,
  clickhouseName,
  dateTimeType,
  elementType,
  FLOAT64,
  STRING,
  type Type,
  withNull,
} from '../types/types.ts'
import { refuse, suggestName } from './refusals.ts'
import {
  type AliasSlot,
  findBare,
  type NameScope,
  type Resolver,
  type ScopeEntry,
  type ScopeMember,
} from './scope.ts'
import { EXPANSIONS_MAX, requireSmallAlias } from './size-limits.ts'

/** Maximum parts of a dotted name, and so of a property path. */
const CHAIN_LENGTH_MAX = 200

/** Resolves a dotted name to a value. */
export function resolveField(node: ast.Field, scope: NameScope, resolver: Resolver): ResolvedExpr {
  if (node.chain.length > CHAIN_LENGTH_MAX) {
    throw refuse(`A name has at most ${CHAIN_LENGTH_MAX} parts`, node)
  }
  const [member, rest] = findStart(node, scope, resolver)
  let at: ScopeMember = member
  for (const part of rest) at = follow(at, part, { node, resolver })
  if (at.kind === 'row') {
    throw refuse(`Can't select a table when a column is expected: ${at.name}`, node)
  }
  return at.expr
}

/** Binds the first one or two parts of the chain; returns the parts left. */
function findStart(
  node: ast.Field,
  scope: NameScope,
  resolver: Resolver,
): [ScopeMember, readonly string[]] {
  const [first = '', second] = node.chain
  for (let at: NameScope | null = scope; at !== null; at = at.parent) {
    const local = at.locals.get(first)
    if (local !== undefined) return [{ kind: 'value', expr: local }, node.chain.slice(1)]
    if (second !== undefined) {
      const entry = at.entries.find((known) => known.name === first)
      if (entry !== undefined) return [fieldOf(entry, second, node), node.chain.slice(2)]
    }
    const member =
      findAlias(first, at, resolver) ??
      findColumn(first, at, node) ??
      findExpression(first, at, { node, scope, resolver })
    if (member !== null) return [member, node.chain.slice(1)]
  }
  throw unresolved(node, scope)
}

function unresolved(node: ast.Field, scope: NameScope): Error {
  const name = node.chain.join('.')
  const hint = suggestName(node.chain[0] ?? '', namesIn(scope))
  return refuse(`Unable to resolve field: ${name}${hint}`, node)
}

function namesIn(scope: NameScope): readonly string[] {
  const names: string[] = []
  for (let at: NameScope | null = scope; at !== null; at = at.parent) {
    names.push(...at.aliases.keys(), ...at.locals.keys(), ...at.ctes.keys())
    for (const entry of at.entries) {
      names.push(entry.name ?? '', ...entry.star().map((column) => column.name))
    }
  }
  return names
}

function fieldOf(entry: ScopeEntry, name: string, node: ast.Field): ScopeMember {
  const member = entry.find(name)
  if (member !== null) return member
  const names = entry.star().map((column) => column.name)
  throw refuse(`Unable to resolve field: ${node.chain.join('.')}${suggestName(name, names)}`, node)
}

/** An alias of the select list; inside its own expression the name refers to the column. */
function findAlias(name: string, scope: NameScope, resolver: Resolver): ScopeMember | null {
  const slot = scope.aliases.get(name)
  if (slot === undefined || slot.state === 'busy') return null
  return { kind: 'value', expr: resolveAlias(slot, scope, resolver) }
}

/** Resolves an aliased expression once. */
export function resolveAlias(slot: AliasSlot, scope: NameScope, resolver: Resolver): ResolvedExpr {
  if (slot.expr !== null) return slot.expr
  slot.state = 'busy'
  slot.expr = resolver.expr(slot.node, scope)
  requireSmallAlias(slot.expr, resolver.sizes, slot.node)
  slot.state = 'done'
  return slot.expr
}

function findColumn(name: string, scope: NameScope, node: ast.Field): ScopeMember | null {
  const members = scope.entries.flatMap((entry) => findBare(entry, name) ?? [])
  if (members.length > 1) {
    throw refuse(`Ambiguous query. Found multiple sources for field: ${name}`, node)
  }
  return members[0] ?? null
}

type FieldContext = {
  readonly node: ast.Field
  readonly scope: NameScope
  readonly resolver: Resolver
}

/** `WITH expr AS name`: the expression, resolved in the scope where the name is used. */
function findExpression(
  name: string,
  at: NameScope,
  { node, scope, resolver }: FieldContext,
): ScopeMember | null {
  const slot = at.ctes.get(name)
  if (slot === undefined || slot.node.cte_type !== 'column') return null
  if (slot.is_busy) throw refuse(`Recursive expression in WITH: ${name}`, node)
  if (slot.node.expr.kind === 'ValuesQuery') throw refuse(`Not an expression: ${name}`, node)
  resolver.next.expansion += 1
  if (resolver.next.expansion > EXPANSIONS_MAX) {
    throw refuse('The expressions of WITH are put in too often', node)
  }
  slot.is_busy = true
  const expr = resolver.expr(slot.node.expr, scope)
  requireSmallAlias(expr, resolver.sizes, node)
  slot.is_busy = false
  return { kind: 'value', expr }
}

type MemberAccess = { readonly node: ast.Field; readonly resolver: Resolver }

function follow(at: ScopeMember, part: string, { node, resolver }: MemberAccess): ScopeMember {
  if (at.kind === 'row') {
    const member = at.find(part)
    if (member !== null) return member
    const hint = suggestName(part, at.members)
    throw refuse(`Unable to resolve field: ${node.chain.join('.')}${hint}`, node)
  }
  return { kind: 'value', expr: accessMember(at.expr, part, { node, resolver }) }
}

/** No tuple is wider. */
const TUPLE_ITEMS_MAX = 10_000

/** A member of a value by name (JSON, map) or number (tuple). */
export function accessMember(
  of: ResolvedExpr,
  key: number | string,
  { node, resolver }: { readonly node: ast.SourceSpan; readonly resolver: Resolver },
): ResolvedExpr {
  const { type } = of
  if (type.kind === 'tuple') {
    const position = Number(key)
    const item = type.items[(position < 0 ? type.items.length + position + 1 : position) - 1]
    if (item === undefined) throw refuse(`Tuple has no element ${key}`, node)
    return tupleItem(
      of,
      position < 0 ? type.items.length + position + 1 : position,
      withNull(item, item.nullable || type.nullable),
    )
  }
  if (isOfTuples(type)) {
    const at = Number(key)
    if (!Number.isInteger(at) || at < 1 || at > TUPLE_ITEMS_MAX)
      throw refuse(`Tuple has no element ${key}`, node)
    return applyFragment('tupleElement', [of, bindInt(at, true)], elementOf(type, at))
  }
  if (type.kind === 'map') {
    const name = typeof key === 'number' ? bindInt(key, true) : bindText(key)
    return applyFragment('arrayElement', [of, name], elementType(type))
  }
  const group = groupOfEvent(of, key)
  if (group !== null) return group
  const base = jsonBase(of)
  if (base === null)
    throw refuse(`Cannot access property '${key}' of a value of type ${clickhouseName(type)}`, node)
  return typeProperty({ ...base, path: [...base.path, key] }, resolver)
}

/** Properties of an event that are stored as columns of their own. */
const GROUP_PROPERTIES: ReadonlyMap<number | string, PhysicalColumn> = new Map(
  GROUP_COLUMNS.map((column) => [`$${column}`, column]),
)

/** `properties.$group_0` → the key of the event's group of that type, null without one. Null for other properties. */
function groupOfEvent(of: ResolvedExpr, key: number | string): ColumnExpr | null {
  // Only scans name a column `properties`; those of sub-selects are numbered.
  if (of.kind !== 'column' || of.name !== 'properties') return null
  if (of.type.kind !== 'json' || of.type.owner !== 'event') return null
  const name = GROUP_PROPERTIES.get(key)
  return name === undefined ? null : { ...of, name, type: withNull(STRING) }
}

/** The property whose path grows by a further key; null for values that may not be JSON. */
function jsonBase(of: ResolvedExpr): Property | null {
  if (of.kind === 'property') return of
  if (of.type.kind !== 'json') return null
  return { kind: 'property', of, path: [], type: withNull(STRING) }
}

/** Types a property by its definition: numeric, boolean or time. Nested members are text. */
function typeProperty(property: Property, { context }: Resolver): Property {
  const [name] = property.path
  const owner = property.of.type.kind === 'json' ? property.of.type.owner : null
  const defined =
    owner === null || property.path.length !== 1
      ? undefined
      : context.property_types.get(`${owner}:${name}`)
  return { ...property, type: withNull(propertyType(defined ?? 'String', context.timezone)) }
}

function propertyType(defined: string, timezone: string): Type {
  switch (defined) {
    case 'Numeric':
      return FLOAT64
    case 'Boolean':
      return BOOL
    case 'DateTime':
      return dateTimeType(timezone)
    default:
      return STRING
  }
}
