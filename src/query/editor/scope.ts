/** What an unfinished query means at a place in it: the names before the cursor, and the tables of its SELECT. */
import { Refusal } from '../../errors.ts'
import type { Select } from '../../hogql/ast.ts'
import { parseSelect } from '../../hogql/parser.ts'
import { columnName } from '../../hogql/resolve/names.ts'
import { type HogQLToken, scanToken } from '../../hogql/tokens.ts'

/** Rows that names may be looked up in. */
export type ScopeTable = {
  /** What queries call it here: its alias, or its name. */
  readonly alias: string
  /** A table of the catalogue; null for a select in brackets. */
  readonly table: string | null
  /** The columns of a select in brackets. */
  readonly columns: readonly string[]
}

export type EditorScope = {
  /** The parts before the cursor's own word, `['person', 'properties']` of `person.properties.na`. */
  readonly chain: readonly string[]
  /** True where a table is to be named. */
  readonly wants_table: boolean
  /** What a text is compared with or looked up in, when the cursor stands inside its quotes; null elsewhere. */
  readonly text_of: readonly string[] | null
  readonly tables: readonly ScopeTable[]
  /** Names of WITH, as tables. */
  readonly ctes: readonly ScopeTable[]
}

/** Tokens of one text; what lies behind them is not looked at. */
const TOKENS_MAX = 20_000
/** Tables of one SELECT, and selects with a name: each select among them is read. */
const TABLES_MAX = 50
/** Longer selects tell no columns. */
const SELECT_LENGTH_MAX = 20_000

/** Looks around a place in a text that need not be whole. `at` is where the cursor's word begins, `cursor` where it ends. */
export function readScope(text: string, at: number, cursor: number): EditorScope {
  const tokens = scanAll(text, cursor)
  const before = tokens.filter(({ end }) => end <= at)
  const quoted = tokens.find(({ kind, start, end }) => kind === 'string' && start < at && at <= end)
  const segment = selectAround(tokens, at)
  const chain = quoted === undefined ? chainBefore(text, before) : []
  const caller = before.at(-1 - 2 * chain.length)?.key ?? ''
  return {
    chain,
    wants_table: quoted === undefined && TABLE_WORDS.has(caller),
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

/** The next token; null at the end, and where nothing can be read any more. */
function scanOne(text: string, at: number, cursor: number): HogQLToken | null {
  try {
    const token = scanToken(text, at)
    return token.kind === 'end' ? null : token
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const start = text.indexOf("'", at)
    // Somebody types a text whose closing quote is still to come: what follows is read as it was before.
    return start >= 0 && start < cursor ? { kind: 'string', key: '', start, end: cursor } : null
  }
}

const isName = ({ kind }: HogQLToken): boolean => kind === 'word' || kind === 'quoted'

function nameOf(text: string, { kind, start, end }: HogQLToken): string {
  return kind === 'quoted' ? text.slice(start + 1, end - 1) : text.slice(start, end)
}

/** Names and dots that end where the tokens do. */
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
  while (isListed(before[index])) index -= 1
  const operator = before[index]?.key ?? ''
  if (!COMPARISONS.has(operator)) return []
  if (operator === 'IN' && before[index - 1]?.key === 'NOT') index -= 1
  const last = before[index - 1]
  if (last === undefined || !isName(last)) return []
  const path = [...chainBefore(text, before.slice(0, index - 1)), nameOf(text, last)]
  return operator === '[' ? [...path, ''] : path
}

/** Of a list that is being written. */
const isListed = (token: HogQLToken | undefined): boolean =>
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

/** The tokens of the SELECT around a place, without those of selects inside it but with their brackets. */
function selectAround(tokens: readonly HogQLToken[], at: number): readonly HogQLToken[] {
  const open: number[] = []
  for (const [index, { key, end }] of tokens.entries()) {
    if (end > at) break
    if (key === '(') open.push(index)
    if (key === ')') open.pop()
  }
  const begins = open.findLast((index) => SELECTS.has(tokens[index + 1]?.key ?? ''))
  const first = begins === undefined ? 0 : begins + 1
  return partAround(tokens.slice(first), at)
}

const SELECTS: ReadonlySet<string> = new Set(['SELECT', 'WITH'])
const SET_OPERATORS: ReadonlySet<string> = new Set(['UNION', 'INTERSECT', 'EXCEPT'])

/** Up to the closing bracket; of several selects joined by UNION the one with the place in it. */
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

/** Where the bracket that opens at `index` closes; the end when it does not. */
function closing(tokens: readonly HogQLToken[], index: number): number {
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
    if (tokens[index]?.key === '(') index = closing(tokens, index)
    else if (TABLE_WORDS.has(tokens[index]?.key ?? '')) {
      const found = readTable(text, tokens, index + 1)
      if (found !== null) tables.push(found)
    }
  }
  return tables
}

function readTable(text: string, tokens: readonly HogQLToken[], index: number): ScopeTable | null {
  const first = tokens[index]
  if (first === undefined) return null
  if (first.key === '(') {
    const end = closing(tokens, index)
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

/** Words that may stand behind a table and are no name of it. */
const NO_ALIAS: ReadonlySet<string> = new Set(
  `ANTI ANY ARRAY ASOF CROSS FINAL FULL GLOBAL GROUP HAVING INNER JOIN LEFT LIMIT NATURAL OFFSET ON ORDER OUTER
   POSITIONAL PREWHERE QUALIFY RIGHT SAMPLE SEMI UNION USING WHERE WINDOW`.split(/\s+/),
)

function aliasAt(text: string, tokens: readonly HogQLToken[], index: number): string | null {
  const token = tokens[tokens[index]?.key === 'AS' ? index + 1 : index]
  if (token === undefined || !isName(token) || NO_ALIAS.has(token.key)) return null
  return nameOf(text, token)
}

/** The columns of a select, none while it cannot be read. */
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

/** Every `name AS (SELECT …` of the text, as many as there may be. */
function ctesOf(text: string, tokens: readonly HogQLToken[]): readonly ScopeTable[] {
  const ctes: ScopeTable[] = []
  for (let index = 0; index < tokens.length && ctes.length < TABLES_MAX; index++) {
    const [name, as, bracket, select] = tokens.slice(index, index + 4)
    if (name === undefined || !isName(name) || as?.key !== 'AS' || bracket?.key !== '(') continue
    if (!SELECTS.has(select?.key ?? '')) continue
    const end = closing(tokens, index + 2)
    const inside = text.slice(bracket.end, tokens[end]?.start ?? text.length)
    ctes.push({ alias: nameOf(text, name), table: null, columns: columnsOf(inside) })
  }
  return ctes
}
