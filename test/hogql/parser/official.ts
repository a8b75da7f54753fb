/** The official HogQL parser as an oracle, and our syntax trees in its JSON shape. */

import createParser, { type HogQLParser } from '@posthog/hogql-parser'
import type { Node } from '../../../src/hogql/syntax/ast.ts'

export type Entry = 'select' | 'expr' | 'order' | 'template'
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }

/** Lists that the official tree leaves out when they are empty. */
const LEFT_OUT_EMPTY = new Set([
  'array_join_list',
  'ctes',
  'exclude',
  'group_by',
  'order_by',
  'partition_by',
  'window_exprs',
  'within_group',
])

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Our tree in the official shape: places off, null and false left out, numbers as JSON has them. */
export function toOfficial(node: Node): Json {
  if (node.kind === 'Constant') return constantToOfficial(node.value)
  if (node.kind === 'HogQLXTag') {
    const { tag, attributes } = node
    return { node: 'HogQLXTag', kind: tag, attributes: attributes.map(toOfficial) }
  }
  if (node.kind === 'WindowFrameExpr') {
    const { frame_type, frame_value } = node
    const value = frame_value?.kind === 'Constant' ? Number(frame_value.value) : frame_value
    return withoutNothing({
      node: 'WindowFrameExpr',
      frame_type,
      frame_value: anyToOfficial(value),
    })
  }
  if (node.kind === 'WindowFunction' && node.args === null) {
    return toOfficial({ ...node, args: [] })
  }
  if (node.kind === 'PivotExpr' || node.kind === 'UnpivotExpr') {
    const { table, alias, table_args } = node.table
    const turned = alias === null && table_args === null ? table : node.table
    return fieldsToOfficial({ ...node, table: turned })
  }
  return fieldsToOfficial(node)
}

function fieldsToOfficial(
  node: Readonly<Record<string, unknown>> & { readonly kind: string },
): Json {
  const { kind, start: _start, end: _end, ...fields } = node
  const entries = Object.entries(fields).map(([key, value]) => [key, fieldToOfficial(key, value)])
  return withoutNothing({ node: kind, ...Object.fromEntries(entries) })
}

function fieldToOfficial(key: string, value: unknown): Json {
  if (key === 'window_exprs' && Array.isArray(value) && value.length > 0) {
    return Object.fromEntries(value.map((window) => [window.name, toOfficial(window.expr)]))
  }
  if (Array.isArray(value) && value.length === 0 && LEFT_OUT_EMPTY.has(key)) return null
  return anyToOfficial(value)
}

function anyToOfficial(value: unknown): Json {
  if (Array.isArray(value)) return value.map(anyToOfficial)
  if (typeof value === 'object' && value !== null) return toOfficial(value as Node)
  return value as Json
}

function constantToOfficial(value: null | boolean | number | bigint | string): Json {
  if (value === null) return { node: 'Constant' }
  if (typeof value === 'bigint') {
    if (value >= INT64_MIN && value <= INT64_MAX) return { node: 'Constant', value: Number(value) }
    return { node: 'Constant', value: String(value), value_type: 'number' }
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { node: 'Constant', value: String(value), value_type: 'number' }
  }
  return { node: 'Constant', value }
}

function withoutNothing(fields: { readonly [key: string]: Json }): Json {
  const isThere = ([key, value]: readonly [string, Json]): boolean =>
    value !== null && (value !== false || key === 'value')
  return Object.fromEntries(Object.entries(fields).filter(isThere))
}

/** What the official parser makes of a text: its tree without nothing, or its error. */
export type OfficialAnswer =
  | { readonly kind: 'tree'; readonly tree: Json }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'trap' }

/** The official parser; an instance that trapped is thrown away. */
export async function openOfficial(): Promise<
  (entry: Entry, text: string) => Promise<OfficialAnswer>
> {
  let parser = await createParser()
  return async (entry, text) => {
    try {
      const answer = JSON.parse(parseOfficially(parser, entry, text))
      if (answer.error === true) return { kind: 'error', message: String(answer.message) }
      return { kind: 'tree', tree: dropNothing(answer) }
    } catch {
      parser = await createParser()
      return { kind: 'trap' }
    }
  }
}

function parseOfficially(parser: HogQLParser, entry: Entry, text: string): string {
  switch (entry) {
    case 'select':
      return parser.parseSelect(text, true)
    case 'expr':
      return parser.parseExpr(text, true)
    case 'order':
      return parser.parseOrderExpr(text, true)
    case 'template':
      return parser.parseFullTemplateString(`F'${text}`, true)
  }
}

function dropNothing(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropNothing)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, dropNothing(inner)] as const)
  return withoutNothing(Object.fromEntries(entries))
}
