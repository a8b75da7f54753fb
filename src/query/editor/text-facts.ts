/** Analyses one text of an editor: validity, tables, columns. No I/O, so that it can run on any thread. */
import type { HogQLMetadata } from '../../contract/analytics/editor.ts'
import { Refusal } from '../../errors.ts'
import { BudgetExceeded, type CompileBudget, FULL_BUDGET } from '../../hogql/budget.ts'
import { type CompiledQuery, compileSelect } from '../../hogql/compile.ts'
import type { PlaceholderValue } from '../../hogql/context.ts'
import { parseExpr, parseSelect, parseTemplate } from '../../hogql/parser/parser.ts'
import type { Expr, Field, Select } from '../../hogql/syntax/ast.ts'
import { mapExpr, visitNodes } from '../../hogql/syntax/walk.ts'
import { select } from '../../hogql/template.ts'
import { receiveContext, type SentContext } from '../compiling/compile-job.ts'
import { compileContext } from '../kinds/compile-context.ts'
import { fillFilters } from '../kinds/filters.ts'
import type { QueryContext } from '../kinds/prepared-query.ts'
import { tableNames } from './catalog.ts'

/** A message about a part of the text; without offsets about all of it. */
export type MetadataNotice = {
  readonly message: string
  readonly start?: number
  readonly end?: number
}

/** A property that the text names, with the row it is read from. */
export type NamedProperty = {
  readonly row: string
  readonly name: string
  readonly start: number
  readonly end: number
}

type SentText = Pick<HogQLMetadata, 'language' | 'query'> & {
  readonly sourceQuery?: object | null | undefined
}

export type TextFacts = {
  readonly isValid: boolean
  readonly isValidView: boolean
  readonly errors: readonly MetadataNotice[]
  readonly table_names: readonly string[]
  readonly columns: readonly string[]
  readonly types: readonly (readonly [string, string])[]
  readonly named: readonly NamedProperty[]
}

export type FactsJob = {
  readonly query: SentText
  readonly context: SentContext
  readonly now: Date
}

/** Runs a job with the full budget. */
export function runFactsJob({ query, context, now }: FactsJob): TextFacts {
  return readFacts(query, { ...receiveContext(context), now }, FULL_BUDGET)
}

type TextContext = {
  readonly context: QueryContext
  readonly now: Date
  readonly budget: CompileBudget
}

/** Analyses a text, each compilation within a budget. Throws BudgetExceeded when a budget below the full one is too small. */
export function readFacts(
  query: SentText,
  context: QueryContext & { readonly now: Date },
  budget: CompileBudget,
): TextFacts {
  const read = readText(query, { context, now: context.now, budget })
  return {
    isValid: 'compiled' in read,
    isValidView: 'compiled' in read && isValidView(read.tree),
    errors: 'errors' in read ? read.errors : [],
    table_names: 'tree' in read ? tablesOf(read.tree) : [],
    columns: 'compiled' in read ? read.compiled.columns : [],
    types: 'compiled' in read ? typesOf(read.compiled) : [],
    named: 'compiled' in read ? propertiesIn(read.tree) : [],
  }
}

/** Finds the text of a HogQL source inside its display wrappers; null for other kinds. */
export function sourceText(source: unknown, depth = 0): string | null {
  if (typeof source !== 'object' || source === null || depth > WRAPPED_MAX) return null
  if ('source' in source) return sourceText(source.source, depth + 1)
  return 'query' in source && typeof source.query === 'string' ? source.query : null
}

/** Maximum nesting of wrappers. */
const WRAPPED_MAX = 3

/** The properties that a text names, in its order. */
function propertiesIn(tree: Select): readonly NamedProperty[] {
  const rows = rowsOf(tree)
  const named: NamedProperty[] = []
  visitNodes(tree, (node) => {
    const property = node.kind === 'Field' ? propertyOf(node, rows) : null
    if (property !== null) named.push({ ...property, start: node.start, end: node.end })
  })
  return named
}

type CheckedText =
  | { readonly tree: Select; readonly compiled: CompiledQuery }
  | { readonly tree: Select; readonly errors: readonly MetadataNotice[] }
  | { readonly errors: readonly MetadataNotice[] }

/** Errors reported per text; a text beyond the length gets only the first: each takes a compilation. */
const ERRORS_MAX = 20
const RETRIED_LENGTH_MAX = 10_000

function readText(query: SentText, reading: TextContext): CheckedText {
  let tree: Select
  try {
    tree = treeOf(query)
  } catch (error) {
    return { errors: [noticeOf(error)] }
  }
  const retries = query.query.length > RETRIED_LENGTH_MAX ? 0 : ERRORS_MAX - 1
  return compileWhole(tree, reading, retries)
}

/** Compiles repeatedly: replaces each erroneous expression by NULL, to find the next error. */
function compileWhole(tree: Select, reading: TextContext, retries: number): CheckedText {
  const errors: MetadataNotice[] = []
  for (let tried: Select | null = tree; tried !== null; ) {
    try {
      const compiled = compileTree(tried, reading)
      return errors.length === 0 ? { tree, compiled } : { tree, errors }
    } catch (error) {
      // The compile thread has a larger budget.
      if (error instanceof BudgetExceeded && reading.budget !== FULL_BUDGET) throw error
      const notice = noticeOf(error)
      const is_new = !errors.some(({ start, end }) => start === notice.start && end === notice.end)
      if (is_new) errors.push(notice)
      tried = is_new && errors.length <= retries ? replaceByNull(tried, notice) : null
    }
  }
  return { tree, errors }
}

function compileTree(tree: Select, { context, now, budget }: TextContext): CompiledQuery {
  const { property_types, project } = context
  const filters = { filters: null, timezone: project.timezone, now, property_types, budget }
  const values = placeholdersOf(tree)
  return compileSelect(fillFilters(tree, filters), compileContext(context, now, { values, budget }))
}

/** Replaces the expression at an error by NULL; returns null when no expression has exactly that span. */
function replaceByNull(tree: Select, { start, end }: MetadataNotice): Select | null {
  if (start === undefined || end === undefined) return null
  const rest = mapExpr(tree, (expr) =>
    expr.start === start && expr.end === end ? { kind: 'Constant', value: null, start, end } : expr,
  )
  return rest === tree ? null : rest
}

function noticeOf(error: unknown): MetadataNotice {
  if (!(error instanceof Refusal)) throw error
  const { detail: message, span } = error
  return span === null ? { message } : { message, start: span.start, end: span.end }
}

function treeOf({ language, query, sourceQuery }: SentText): Select {
  switch (language) {
    case 'hogQL':
      return parseSelect(query)
    case 'hogQLExpr':
      return withExpression(parseExpr(query), sourceQuery)
    case 'hogTemplate':
      return withExpression(parseTemplate(query), sourceQuery)
  }
}

/** Wraps an expression in a query over its source, or over events. */
function withExpression(expr: Expr, source: object | null | undefined): Select {
  const events = select`select 1 from events`
  const text = sourceText(source)
  const tree = text === null ? null : parseSelect(text)
  return { ...(tree?.kind === 'SelectQuery' ? tree : events), select: [expr], order_by: [] }
}

/** Gives every placeholder the value 1, which is valid in most places, so that the text compiles without its values. */
function placeholdersOf(tree: Select): ReadonlyMap<string, PlaceholderValue> {
  const values = new Map<string, PlaceholderValue>()
  visitNodes(tree, (node) => {
    if (node.kind === 'Placeholder' && node.expr.kind === 'Field') {
      values.set(node.expr.chain.join('.'), 1n)
    }
  })
  return values
}

/** True when every column has a name, as a view requires. */
function isValidView(tree: Select): boolean {
  if (tree.kind !== 'SelectQuery') return false
  return tree.select.every((column) => column.kind === 'Alias' || isColumn(column))
}

const isColumn = (node: Expr): boolean => node.kind === 'Field' && node.chain.at(-1) !== '*'

/** Lists the catalog's tables that the text names; a CTE of the same name hides a table. */
function tablesOf(tree: Select): readonly string[] {
  const known = new Set(tableNames())
  const names = new Set<string>()
  const hidden = new Set<string>()
  visitNodes(tree, (node) => {
    if (node.kind === 'CTE') hidden.add(node.name)
    if (node.kind !== 'JoinExpr' || node.table.kind !== 'Field') return
    const name = node.table.chain.join('.')
    if (known.has(name)) names.add(name)
  })
  return [...names].filter((name) => !hidden.has(name)).toSorted()
}

function typesOf({ columns, types }: CompiledQuery): readonly (readonly [string, string])[] {
  return columns.map((column, index) => [column, types[index] ?? ''])
}

/** Maps aliases to tables; `''` is the table of unqualified names. */
function rowsOf(tree: Select): ReadonlyMap<string, string> {
  const rows = new Map<string, string>()
  visitNodes(tree, (node) => {
    if (node.kind !== 'JoinExpr' || node.table.kind !== 'Field') return
    const name = node.table.chain.join('.')
    rows.set(node.alias ?? name, name)
    if (!rows.has('')) rows.set('', name)
  })
  return rows
}

/** `person.properties.plan` → `{row: 'person', name: 'plan'}`; null for other fields. */
function propertyOf(
  { chain }: Field,
  rows: ReadonlyMap<string, string>,
): { readonly row: string; readonly name: string } | null {
  const at = chain.indexOf('properties')
  const name = chain[at + 1]
  if (at < 0 || name === undefined) return null
  const before = chain[at - 1] ?? ''
  return { row: rows.get(before) ?? before, name }
}
