/** Reads the scope at a position in an unfinished query from its tokens: names before the cursor, tables of the SELECT. */
import { Refusal } from '../../errors.ts'
import { parseSelect } from '../../hogql/parser/parser.ts'
import { type HogQLToken, scanToken } from '../../hogql/parser/tokens.ts'
import { columnName } from '../../hogql/resolve/names.ts'
import type { Select } from '../../hogql/syntax/ast.ts'

/** A table in scope. */
export type ScopeTable = {
  /** Its alias, or its name. */
  readonly alias: string
  /** A table of the catalog; null for a subquery. */
  readonly table: string | null
  /** The columns of a subquery. */
  readonly columns: readonly string[]
}

export type EditorScope = {
  /** The names before the cursor's word: `['person', 'properties']` of `person.properties.na`. */
  readonly chain: readonly string[]
  /** True after FROM and JOIN. */
  readonly wants_table: boolean
  /** Inside quotes: the field that the text is compared with or looked up in; null elsewhere. */
  readonly text_of: readonly string[] | null
  readonly tables: readonly ScopeTable[]
  /** The CTEs of the text, as tables. */
  readonly ctes: readonly ScopeTable[]
}

/** Maximum number of tokens read. */
const TOKENS_MAX = 20_000
/** Maximum number of tables of one SELECT, and of CTEs; subqueries among them are parsed. */
const TABLES_MAX = 50
/** Longer subqueries are not parsed. */
const SELECT_LENGTH_MAX = 20_000

/** Reads the scope in a text that may be incomplete. The cursor's word is from `at` to `cursor`. */
export function readScope(text: string, at: number, cursor: number): EditorScope {
  const tokens = scanAll(text, cursor)
  const before = tokens.filter(({ end }) => end <= at)
  const quoted = tokens.find(({ kind, start, end }) => kind === 'string' && start < at && at <= end)
  const segment = selectAround(tokens, at)
  const chain = quoted === undefined ? chainBefore(text, before) : []
  const keyword = before.at(-1 - 2 * chain.length)?.key ?? ''
  return {
    chain,
    wants_table: quoted === undefined && TABLE_WORDS.has(keyword),
    text_of: quoted === undefined ? null : comparedWith(text, before),
    tables: tablesOf(text, segment),
    ctes: ctesOf(text, tokens),
  }
}

const TABLE_WORDS: ReadonlySet<string> = new Set(['FROM', 'JOIN'])

function scanAll(text: string, cursor: number): readonly HogQLToken[] {
  const tokens: HogQLToken[] = []
  for (let at = 0; tokens.length < TOKENS_MAX; ) {
    const token = scanOne(text, at, cursor)
    if (token === null) break
    tokens.push(token)
    at = token.end
  }
  return tokens
}

/** Scans the next token; null at the end, and at an error. */
function scanOne(text: string, at: number, cursor: number): HogQLToken | null {
  try {
    const token = scanToken(text, at)
    return token.kind === 'end' ? null : token
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const start = text.indexOf("'", at)
    // The closing quote is not typed yet: the string ends at the cursor.
    return start >= 0 && start < cursor ? { kind: 'string', key: '', start, end: cursor } : null
  }
}

const isName = ({ kind }: HogQLToken): boolean => kind === 'word' || kind === 'quoted'

function nameOf(text: string, { kind, start, end }: HogQLToken): string {
  return kind === 'quoted' ? text.slice(start + 1, end - 1) : text.slice(start, end)
}

/** Collects the names and dots at the end of the tokens. */
function chainBefore(text: string, before: readonly HogQLToken[]): readonly string[] {
  const chain: string[] = []
  for (let index = before.length - 1; before[index]?.key === '.'; index -= 2) {
    const token = before[index - 1]
    if (token === undefined || !isName(token)) break
    chain.unshift(nameOf(text, token))
  }
  return chain
}

/** `event` of `event = '…'`, `event IN ('…', '…'` and `properties` of `properties['…'`. */
function comparedWith(text: string, before: readonly HogQLToken[]): readonly string[] {
  let index = before.length - 1
  while (isListToken(before[index])) index -= 1
  const operator = before[index]?.key ?? ''
  if (!COMPARISONS.has(operator)) return []
  if (operator === 'IN' && before[index - 1]?.key === 'NOT') index -= 1
  const last = before[index - 1]
  if (last === undefined || !isName(last)) return []
  const path = [...chainBefore(text, before.slice(0, index - 1)), nameOf(text, last)]
  return operator === '[' ? [...path, ''] : path
}

/** True for tokens of an unfinished list. */
const isListToken = (token: HogQLToken | undefined): boolean =>
  token?.kind === 'string' || token?.key === ',' || token?.key === '('

const COMPARISONS: ReadonlySet<string> = new Set([
  '=',
  '==',
  '!=',
  '<>',
  'IN',
  'LIKE',
  'ILIKE',
  '[',
])

/** Selects the tokens of the SELECT around a position, subqueries included. */
function selectAround(tokens: readonly HogQLToken[], at: number): readonly HogQLToken[] {
  const open: number[] = []
  for (const [index, { key, end }] of tokens.entries()) {
    if (end > at) break
    if (key === '(') open.push(index)
    if (key === ')') open.pop()
  }
  const select_bracket = open.findLast((index) => SELECTS.has(tokens[index + 1]?.key ?? ''))
  const first = select_bracket === undefined ? 0 : select_bracket + 1
  return partAround(tokens.slice(first), at)
}

const SELECTS: ReadonlySet<string> = new Set(['SELECT', 'WITH'])
const SET_OPERATORS: ReadonlySet<string> = new Set(['UNION', 'INTERSECT', 'EXCEPT'])

/** Cuts at the closing bracket; of a UNION, selects the branch around the position. */
function partAround(tokens: readonly HogQLToken[], at: number): readonly HogQLToken[] {
  let depth = 0
  let first = 0
  for (const [index, { key, start }] of tokens.entries()) {
    if (key === '(') depth += 1
    if (key === ')') depth -= 1
    if (depth < 0) return tokens.slice(first, index)
    if (depth > 0 || !SET_OPERATORS.has(key)) continue
    if (start >= at) return tokens.slice(first, index)
    first = index + 1
  }
  return tokens.slice(first)
}

/** Finds the bracket that closes the one at `index`; the end when there is none. */
function closingIndex(tokens: readonly HogQLToken[], index: number): number {
  let depth = 0
  for (let at = index; at < tokens.length; at++) {
    if (tokens[at]?.key === '(') depth += 1
    if (tokens[at]?.key === ')') depth -= 1
    if (depth === 0) return at
  }
  return tokens.length
}

function tablesOf(text: string, tokens: readonly HogQLToken[]): readonly ScopeTable[] {
  const tables: ScopeTable[] = []
  for (let index = 0; index < tokens.length && tables.length < TABLES_MAX; index++) {
    if (tokens[index]?.key === '(') index = closingIndex(tokens, index)
    else if (TABLE_WORDS.has(tokens[index]?.key ?? '')) {
      const table = readTable(text, tokens, index + 1)
      if (table !== null) tables.push(table)
    }
  }
  return tables
}

function readTable(text: string, tokens: readonly HogQLToken[], index: number): ScopeTable | null {
  const first = tokens[index]
  if (first === undefined) return null
  if (first.key === '(') {
    const end = closingIndex(tokens, index)
    const inside = text.slice(first.end, tokens[end]?.start ?? text.length)
    const alias = aliasAt(text, tokens, end + 1) ?? ''
    return { alias, table: null, columns: columnsOf(inside) }
  }
  const parts: string[] = []
  let next = index
  for (let token = tokens[next]; token !== undefined && isName(token); token = tokens[next]) {
    parts.push(nameOf(text, token))
    next += tokens[next + 1]?.key === '.' ? 2 : 1
    if (tokens[next - 1]?.key !== '.') break
  }
  if (parts.length === 0) return null
  const table = parts.join('.')
  return { alias: aliasAt(text, tokens, next) ?? table, table, columns: [] }
}

/** Keywords that can follow a table and are not its alias. */
const NO_ALIAS: ReadonlySet<string> = new Set(
  `ANTI ANY ARRAY ASOF CROSS FINAL FULL GLOBAL GROUP HAVING INNER JOIN LEFT LIMIT NATURAL OFFSET ON ORDER OUTER
   POSITIONAL PREWHERE QUALIFY RIGHT SAMPLE SEMI UNION USING WHERE WINDOW`.split(/\s+/),
)

function aliasAt(text: string, tokens: readonly HogQLToken[], index: number): string | null {
  const token = tokens[tokens[index]?.key === 'AS' ? index + 1 : index]
  if (token === undefined || !isName(token) || NO_ALIAS.has(token.key)) return null
  return nameOf(text, token)
}

/** The columns of a subquery; none when it cannot be parsed. */
function columnsOf(text: string): readonly string[] {
  if (text.length > SELECT_LENGTH_MAX) return []
  try {
    return selectedNames(parseSelect(text))
  } catch (error) {
    if (error instanceof Refusal) return []
    throw error
  }
}

function selectedNames(tree: Select): readonly string[] {
  if (tree.kind === 'SelectQuery') return tree.select.map(columnName)
  if (tree.kind !== 'SelectSetQuery') return []
  const first = tree.initial_select_query
  return first.kind === 'ValuesQuery' ? [] : selectedNames(first)
}

/** Finds every `name AS (SELECT …` of the text, up to TABLES_MAX. */
function ctesOf(text: string, tokens: readonly HogQLToken[]): readonly ScopeTable[] {
  const ctes: ScopeTable[] = []
  for (let index = 0; index < tokens.length && ctes.length < TABLES_MAX; index++) {
    const [name, as, bracket, select] = tokens.slice(index, index + 4)
    if (name === undefined || !isName(name) || as?.key !== 'AS' || bracket?.key !== '(') continue
    if (!SELECTS.has(select?.key ?? '')) continue
    const end = closingIndex(tokens, index + 2)
    const inside = text.slice(bracket.end, tokens[end]?.start ?? text.length)
    ctes.push({ alias: nameOf(text, name), table: null, columns: columnsOf(inside) })
  }
  return ctes
}
