/** HogQLMetadata: is a text right, and if not, where; what it reads and answers. Interface §4.3. */
import type { HogQLMetadata } from '../../contract/editor.ts'
import { Refusal } from '../../errors.ts'
import type { Expr, Field, Select, SelectQuery } from '../../hogql/ast.ts'
import { type CompiledQuery, compileSelect } from '../../hogql/compile.ts'
import type { PlaceholderValue } from '../../hogql/context.ts'
import { field, joinOf, selectOf } from '../../hogql/nodes.ts'
import { parseExpr, parseSelect, parseTemplate } from '../../hogql/parser.ts'
import { mapExpr, visitNodes } from '../../hogql/walk.ts'
import { compileContext } from '../compile-context.ts'
import { placeFilters } from '../filters.ts'
import { type EditorAsking, ownerOf, typeKey } from './asking.ts'
import { tableNames } from './catalogue.ts'

/** Something to be said about a part of the text; without offsets about all of it. */
type Notice = { readonly message: string; readonly start?: number; readonly end?: number }

/** Reads a text as its language says. The answer says what is wrong; nothing is refused. */
export function readMetadata(question: HogQLMetadata, asking: EditorAsking): object {
  const read = readText(question, asking)
  return {
    query: question.query,
    isValid: 'compiled' in read,
    isValidView: 'compiled' in read && isValidView(read.tree),
    errors: 'errors' in read ? read.errors : [],
    ...('compiled' in read ? remarks(read.tree, asking) : { warnings: [], notices: [] }),
    table_names: 'tree' in read ? tablesOf(read.tree) : [],
    columns: 'compiled' in read ? read.compiled.columns : [],
    types: 'compiled' in read ? typesOf(read.compiled) : [],
    query_status: null,
  }
}

type Read =
  | { readonly tree: Select; readonly compiled: CompiledQuery }
  | { readonly tree: Select; readonly errors: readonly Notice[] }
  | { readonly errors: readonly Notice[] }

/** Errors told of one text, and how long it may be for more than the first: each of them is one more compilation. */
const ERRORS_MAX = 20
const RETRIED_LENGTH_MAX = 10_000

function readText(question: HogQLMetadata, asking: EditorAsking): Read {
  let tree: Select
  try {
    tree = treeOf(question)
  } catch (error) {
    return { errors: [noticeOf(error)] }
  }
  const retries = question.query.length > RETRIED_LENGTH_MAX ? 0 : ERRORS_MAX - 1
  return compileWhole(tree, asking, retries)
}

/** Compiles; what is wrong is put out of the way by NULL, to see what else is. */
function compileWhole(tree: Select, asking: EditorAsking, retries: number): Read {
  const errors: Notice[] = []
  for (let tried: Select | null = tree; tried !== null; ) {
    try {
      const compiled = compileTree(tried, asking)
      return errors.length === 0 ? { tree, compiled } : { tree, errors }
    } catch (error) {
      const notice = noticeOf(error)
      const is_new = !errors.some(({ start, end }) => start === notice.start && end === notice.end)
      if (is_new) errors.push(notice)
      tried = is_new && errors.length <= retries ? without(tried, notice) : null
    }
  }
  return { tree, errors }
}

function compileTree(tree: Select, asking: EditorAsking): CompiledQuery {
  const { property_types, project, now } = asking
  const filters = { filters: null, timezone: project.timezone, now, property_types }
  const values = placeholdersOf(tree)
  return compileSelect(placeFilters(tree, filters), compileContext(asking, now, { values }))
}

/** The tree with NULL in the place of an error; null when no expression stands exactly there. */
function without(tree: Select, { start, end }: Notice): Select | null {
  if (start === undefined || end === undefined) return null
  const rest = mapExpr(tree, (expr) =>
    expr.start === start && expr.end === end ? { kind: 'Constant', value: null, start, end } : expr,
  )
  return rest === tree ? null : rest
}

function noticeOf(error: unknown): Notice {
  if (!(error instanceof Refusal)) throw error
  const { detail: message, span } = error
  return span === null ? { message } : { message, start: span.start, end: span.end }
}

function treeOf({ language, query, sourceQuery }: HogQLMetadata): Select {
  switch (language) {
    case 'hogQL':
      return parseSelect(query)
    case 'hogQLExpr':
      return withExpression(parseExpr(query), sourceQuery)
    case 'hogTemplate':
      return withExpression(parseTemplate(query), sourceQuery)
  }
}

/** The question that an expression stands in: the rows of its source, or events. */
function withExpression(expr: Expr, source: object | null | undefined): Select {
  const events: SelectQuery = { ...selectOf([]), select_from: joinOf(field(['events'])) }
  const tree = sourceTree(source)
  return { ...(tree?.kind === 'SelectQuery' ? tree : events), select: [expr], order_by: [] }
}

/** Wrappers around a source, as deep as they go. */
const WRAPPED_MAX = 3

/** The tree of a HogQL source, below nodes that only show it; null for other kinds. */
function sourceTree(source: unknown, depth = 0): Select | null {
  if (typeof source !== 'object' || source === null || depth > WRAPPED_MAX) return null
  if ('source' in source) return sourceTree(source.source, depth + 1)
  return 'query' in source && typeof source.query === 'string' ? parseSelect(source.query) : null
}

/** Whatever will stand for them, the text is to be read now: a number fits in most places. */
function placeholdersOf(tree: Select): ReadonlyMap<string, PlaceholderValue> {
  const values = new Map<string, PlaceholderValue>()
  visitNodes(tree, (node) => {
    if (node.kind === 'Placeholder' && node.expr.kind === 'Field') {
      values.set(node.expr.chain.join('.'), 1n)
    }
  })
  return values
}

/** A view's columns need names that can be asked for. */
function isValidView(tree: Select): boolean {
  if (tree.kind !== 'SelectQuery') return false
  return tree.select.every((column) => column.kind === 'Alias' || isColumn(column))
}

const isColumn = (node: Expr): boolean => node.kind === 'Field' && node.chain.at(-1) !== '*'

/** Tables of the catalogue, by the names in the text; names of WITH hide them. */
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

/** What is known about the properties that a text names: their types, and those nobody has ever sent. */
function remarks(
  tree: Select,
  asking: EditorAsking,
): { readonly warnings: readonly Notice[]; readonly notices: readonly Notice[] } {
  const rows = rowsOf(tree)
  const warnings: Notice[] = []
  const notices: Notice[] = []
  visitNodes(tree, (node) => {
    const named = node.kind === 'Field' ? propertyOf(node, rows) : null
    const owner = named === null ? null : ownerOf(named.row)
    if (named === null || owner === null) return
    const type = asking.property_types.get(typeKey(owner, named.name))
    const { start, end } = node
    const what = `${WORDS[owner.kind]} property ${JSON.stringify(named.name)}`
    if (type !== undefined) notices.push({ start, end, message: `${what} is of type ${type}.` })
    else if (!asking.listProperties(owner).some(({ name }) => name === named.name)) {
      warnings.push({ start, end, message: `${what} was never sent.` })
    }
  })
  return { warnings, notices }
}

const WORDS = { event: 'Event', person: 'Person', group: 'Group' } as const

/** The tables of the text by the names they have in it; the one name that needs no table is `''`. */
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

/** `plan` of `person.properties.plan`, with the row it is a property of. */
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
