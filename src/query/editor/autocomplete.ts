/** HogQLAutocomplete: suggests tables, fields, properties, events and functions at a position in a text. */

import type { HogQLAutocomplete } from '../../contract/analytics/editor.ts'
import { refuseMember } from '../../errors.ts'
import { functionNames } from '../../hogql/functions/registry.ts'
import { macroNames } from '../../hogql/resolve/calls/hogql-macros.ts'
import {
  type CatalogFields,
  findTableFields,
  hasTableField,
  quotedName,
  tableNames,
} from './catalog.ts'
import { type EditorContext, groupTypesOf, ownerOf } from './editor-context.ts'
import { type EditorScope, readScope, type ScopeTable } from './scope.ts'
import { sourceText } from './text-facts.ts'

/** One suggestion, in the shape of the API. */
type Suggestion = {
  readonly label: string
  readonly insertText: string
  readonly detail?: string
  readonly kind: 'Class' | 'Constant' | 'Folder' | 'Function' | 'Value' | 'Variable'
}

/** Maximum number of suggestions; `incomplete_list` is true when there are more. */
const SUGGESTIONS_MAX = 220

/** Suggests names that contain the word at the position, ignoring case. Refuses positions outside of the text. */
export function suggestCompletions(sent_query: HogQLAutocomplete, context: EditorContext): object {
  const started_ms = performance.now()
  const { query, startPosition, endPosition } = sent_query
  if (startPosition > endPosition || endPosition > query.length) {
    const detail = 'The positions do not lie in the text.'
    throw refuseMember(detail, 'query__endPosition')
  }
  const word = query.slice(startPosition, endPosition).toLowerCase()
  const matching = suggestionsAt(scopeOf(sent_query), sent_query, context).filter(({ label }) =>
    label.toLowerCase().includes(word),
  )
  // Names that begin with the word come first.
  const beginning = (label: string): number => (label.toLowerCase().startsWith(word) ? 0 : 1)
  const ordered = matching.toSorted((a, b) => beginning(a.label) - beginning(b.label))
  return {
    suggestions: ordered.slice(0, SUGGESTIONS_MAX),
    incomplete_list: matching.length > SUGGESTIONS_MAX,
    timings: [{ k: '.', t: Math.round((performance.now() - started_ms) * 1000) / 1_000_000 }],
    query_status: null,
  }
}

const EVENTS: ScopeTable = { alias: 'events', table: 'events', columns: [] }

/** Reads the scope; an expression has the tables of its source query, or events. */
function scopeOf({
  language,
  query,
  startPosition,
  endPosition,
  sourceQuery,
}: HogQLAutocomplete): EditorScope {
  const scope = readScope(query, startPosition, endPosition)
  if (language === 'hogQL') return scope
  const text = sourceText(sourceQuery)
  const source = text === null ? null : readScope(text, text.length, text.length)
  const tables = source?.tables.length ? source.tables : [EVENTS]
  return { ...scope, tables, ctes: source?.ctes ?? [], wants_table: false }
}

function suggestionsAt(
  scope: EditorScope,
  { globals, language }: HogQLAutocomplete,
  context: EditorContext,
): readonly Suggestion[] {
  if (scope.text_of !== null) return suggestTexts(scope.text_of, scope, context)
  if (scope.wants_table) return suggestTables(scope)
  if (scope.chain.length > 0) return suggestMembers(scope.chain, scope, context)
  const named = language === 'hogTemplate' ? Object.keys(globals ?? {}) : []
  return [
    ...named.map((name): Suggestion => ({ ...suggest(name, 'Variable'), detail: 'Global' })),
    ...scope.tables.flatMap((table) => columnsOf(cteOf(table, scope.ctes) ?? table, context)),
    ...scope.tables.map(({ alias }) => suggestTable(alias)),
    ...suggestFunctions(),
  ]
}

const suggest = (name: string, kind: Suggestion['kind']): Suggestion => ({
  label: name,
  insertText: quotedName(name),
  kind,
})

/** Suggests tables; after `system.` only the rest of their names. */
function suggestTables({ chain, ctes }: EditorScope): readonly Suggestion[] {
  const begin = chain.map((part) => `${part}.`).join('')
  const names = [...ctes.map(({ alias }) => alias), ...tableNames()]
  return names.filter((name) => name.startsWith(begin)).map((name) => suggestTable(name, begin))
}

function suggestTable(name: string, begin = ''): Suggestion {
  const label = name.slice(begin.length)
  const insertText = label.split('.').map(quotedName).join('.')
  return { label, insertText, kind: 'Folder', detail: 'Table' }
}

function suggestFunctions(): readonly Suggestion[] {
  return [...functionNames(), ...macroNames()]
    .filter((name) => !name.startsWith('_'))
    .toSorted()
    .map((name) => ({ label: name, insertText: `${name}()`, kind: 'Function' }))
}

function columnsOf({ table, columns }: ScopeTable, context: EditorContext): readonly Suggestion[] {
  if (table === null) return columns.map((name) => suggest(name, 'Variable'))
  return suggestFields(fieldsOf(table, context))
}

const fieldsOf = (table: string, context: EditorContext): CatalogFields =>
  findTableFields(table, groupTypesOf(context)) ?? new Map()

function suggestFields(fields: CatalogFields): readonly Suggestion[] {
  return [...fields.values()].map(({ name, type }) => ({
    ...suggest(name, 'Variable'),
    detail: DETAILS[type] ?? 'Unknown',
  }))
}

const DETAILS: Readonly<Record<string, string>> = {
  array: 'Array',
  boolean: 'Boolean',
  date: 'Date',
  field_traverser: 'Lazy Table',
  datetime: 'DateTime',
  decimal: 'Decimal',
  float: 'Float',
  integer: 'Integer',
  json: 'Object',
  lazy_table: 'Lazy Table',
  string: 'String',
  virtual_table: 'Virtual Table',
}

/** Suggests completions after a dot: fields of a table or of a joined row, or properties. */
function suggestMembers(
  chain: readonly string[],
  scope: EditorScope,
  context: EditorContext,
): readonly Suggestion[] {
  const { table, path } = rootOf(chain, scope, context)
  if (table === null) return []
  if (table.table === null) return path.length === 0 ? columnsOf(table, context) : []
  let fields = fieldsOf(table.table, context)
  let row = table.table
  for (const [index, name] of path.entries()) {
    if (name === 'properties') return index === path.length - 1 ? propertiesOf(row, context) : []
    const field = fields.get(name)
    if (field === undefined) return []
    fields = field.readFields()
    row = name
  }
  return suggestFields(fields)
}

type CompletionRoot = { readonly table: ScopeTable | null; readonly path: readonly string[] }

/** Resolves the first name of a chain: a table of the SELECT or of WITH, or a field of the first table that has it. */
function rootOf(
  chain: readonly string[],
  { tables, ctes }: EditorScope,
  context: EditorContext,
): CompletionRoot {
  const by_alias = tables.find(({ alias }) => alias === chain[0])
  const source = by_alias ?? tables.find((table) => hasField(table, chain[0] ?? '', context))
  const table = source === undefined ? null : (cteOf(source, ctes) ?? source)
  return { table, path: by_alias === undefined ? chain : chain.slice(1) }
}

const cteOf = ({ table }: ScopeTable, ctes: readonly ScopeTable[]): ScopeTable | undefined =>
  ctes.find(({ alias }) => alias === table)

function hasField({ table, columns }: ScopeTable, name: string, context: EditorContext): boolean {
  if (table === null) return columns.includes(name)
  return hasTableField(table, name, groupTypesOf(context))
}

function propertiesOf(row: string, context: EditorContext): readonly Suggestion[] {
  const owner = ownerOf(row, context)
  if (owner === null) return []
  return context.listProperties(owner).map(({ name, property_type }) => ({
    ...suggest(name, 'Variable'),
    detail: property_type ?? 'String',
  }))
}

/** Suggests texts inside quotes: event names, or property names after `properties[`. */
function suggestTexts(
  compared: readonly string[],
  scope: EditorScope,
  context: EditorContext,
): readonly Suggestion[] {
  const asText = ({ label, ...rest }: Suggestion): Suggestion => ({
    ...rest,
    label,
    insertText: label.replaceAll(/[\\']/g, String.raw`\$&`),
    kind: 'Value',
  })
  if (compared.at(-1) === '')
    return suggestMembers(compared.slice(0, -1), scope, context).map(asText)
  if (compared.at(-1) !== 'event') return []
  return context
    .listEvents()
    .map(({ name }) => asText({ ...suggest(name, 'Value'), detail: 'Event' }))
}
