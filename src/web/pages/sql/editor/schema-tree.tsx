/** The tables, their fields and example values; a click puts the name or the value into the text. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../../../api/calls/ask.ts'
import type { ApiError } from '../../../api/calls/call.ts'
import { usePropertyNames } from '../../../api/definitions.ts'
import { type ListedField, type ListedTable, useTables } from '../../../api/editor.ts'
import type { PropertyOwner } from '../../../parts/filters/conditions.ts'
import { formatCompact } from '../../../parts/format.ts'
import { Icon } from '../../../parts/icon.tsx'
import { errorText } from '../../../parts/notes/error-note.tsx'
import { Loaded } from '../../../parts/notes/loaded.tsx'
import { useProject } from '../../../state/project.tsx'
import { cellText } from '../results/cells.ts'
import style from '../sql.module.css'

type SchemaTreeProps = { readonly onPick: (text: string) => void }

/** Draws the tree with a search; tables of the server's own definitions come last. */
export function SchemaTree({ onPick }: SchemaTreeProps): VNode {
  const [search, setSearch] = useState('')
  return (
    <details class={style.tables} open={!matchMedia(NARROW).matches}>
      <summary>Tables and fields</summary>
      <nav class={style.tree} aria-label="Tables">
        <input
          type="search"
          class="field"
          placeholder="Search tables and fields"
          aria-label="Search tables and fields"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <Loaded of={useTables()}>
          {(tables) => (
            <Tree tables={tables} search={search.trim().toLowerCase()} onPick={onPick} />
          )}
        </Loaded>
      </nav>
    </details>
  )
}

/** Beside the editor there is no room: the tree is closed above it. */
const NARROW = '(width < 960px)'

type TreeProps = SchemaTreeProps & {
  readonly tables: readonly ListedTable[]
  /** In small letters. */
  readonly search: string
}

function Tree({ tables, search, onPick }: TreeProps): VNode {
  const found = tables
    .map((table) => narrowTable(table, search))
    .filter((table) => table !== null)
    .toSorted((one, other) => one.name.localeCompare(other.name))
  const entryOf = (table: ListedTable): VNode => (
    <TableEntry key={table.name} table={table} is_open={search !== ''} onPick={onPick} />
  )
  const first = FIRST.flatMap((name) => found.filter((table) => table.name === name))
  const others = found.filter(({ name }) => !FIRST.includes(name))
  return (
    <ul>
      {first.map(entryOf)}
      {others.length > 0 && (
        <li>
          <details open={search !== ''}>
            <summary class={style.others}>Other tables</summary>
            <ul>{others.map(entryOf)}</ul>
          </details>
        </li>
      )}
    </ul>
  )
}

/** The tables that most queries are about. */
const FIRST = ['events', 'persons', 'sessions', 'groups', 'person_distinct_ids', 'cohort_people']

/** The table with the fields that contain a text; whole when its name does, null when nothing does. */
function narrowTable(table: ListedTable, text: string): ListedTable | null {
  if (text === '' || table.name.toLowerCase().includes(text)) return table
  const fields = Object.entries(table.fields).filter(([name]) => name.toLowerCase().includes(text))
  return fields.length === 0 ? null : { ...table, fields: Object.fromEntries(fields) }
}

type TableEntryProps = {
  readonly table: ListedTable
  readonly is_open: boolean
  readonly onPick: (text: string) => void
}

function TableEntry({ table, is_open, onPick }: TableEntryProps): VNode {
  return (
    <li>
      <details open={is_open}>
        <summary>{table.name}</summary>
        <ul>
          {Object.values(table.fields).map((field) => (
            <FieldEntry key={field.name} table={table.name} field={field} onPick={onPick} />
          ))}
        </ul>
      </details>
    </li>
  )
}

type FieldEntryProps = SchemaTreeProps & { readonly table: string; readonly field: ListedField }

/** The owner of the properties in a table's field `properties`. */
const OWNERS: Readonly<Record<string, PropertyOwner>> = { events: 'event', persons: 'person' }

function FieldEntry({ table, field, onPick }: FieldEntryProps): VNode {
  const { name, hogql_value, type } = field
  const leads_on = type.endsWith('_table')
  const owner = name === 'properties' ? OWNERS[table] : undefined
  return (
    <NameEntry
      name={name}
      type={type.replace('_table', '')}
      onPick={() => onPick(hogql_value)}
      opens={owner === undefined ? 'values' : 'properties'}
    >
      {leads_on
        ? null
        : owner === undefined
          ? () => <Values table={table} field={hogql_value} onPick={onPick} />
          : () => <Properties table={table} owner={owner} onPick={onPick} />}
    </NameEntry>
  )
}

type NameEntryProps = {
  readonly name: string
  readonly type: string
  readonly opens: 'properties' | 'values'
  readonly onPick: () => void
  /** Drawn when it is opened; null for an entry with nothing to open. */
  readonly children: (() => VNode) | null
}

function NameEntry({ name, type, opens, onPick, children }: NameEntryProps): VNode {
  const [is_open, setOpen] = useState(false)
  return (
    <li>
      <div class={style.name}>
        <button type="button" onClick={onPick} title={`Insert ${name}`}>
          <span>{name}</span>
          <span class={style.type}>{type}</span>
        </button>
        {children !== null && (
          <button
            type="button"
            class={style.opener}
            aria-expanded={is_open}
            aria-label={opens === 'values' ? `Example values of ${name}` : `Properties in ${name}`}
            onClick={() => setOpen(!is_open)}
          >
            <Icon name="chevron" size={14} />
          </button>
        )}
      </div>
      {is_open && children?.()}
    </li>
  )
}

type PropertiesProps = SchemaTreeProps & { readonly table: string; readonly owner: PropertyOwner }

function Properties({ table, owner, onPick }: PropertiesProps): VNode {
  return (
    <Loaded of={usePropertyNames({ owner })} skeleton={<p class={style.note}>…</p>}>
      {({ results }) => (
        <ul class={style.nested}>
          {results.map(({ name, property_type }) => {
            const field = propertyField(name)
            return (
              <NameEntry
                key={name}
                name={name}
                type={property_type ?? ''}
                onPick={() => onPick(field)}
                opens="values"
              >
                {() => <Values table={table} field={field} onPick={onPick} />}
              </NameEntry>
            )
          })}
        </ul>
      )}
    </Loaded>
  )
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/

/** `properties.plan`; names that are no words are quoted. */
const propertyField = (name: string): string =>
  `properties.${PLAIN_NAME.test(name) ? name : `\`${name.replaceAll(/[\\`]/g, String.raw`\$&`)}\``}`

type ValuesProps = SchemaTreeProps & { readonly table: string; readonly field: string }

type ExampleRow = readonly [value: string, rows: number]

/** The most frequent values. */
function Values({ table, field, onPick }: ValuesProps): VNode {
  const values = useExamples(table, field)
  if (values.error !== null) return <p class={style.note}>{errorText(values.error)}</p>
  if (values.data === undefined) return <p class={style.note}>…</p>
  const shown = values.data.flatMap(([value, rows]) => (value === '' ? [] : [{ value, rows }]))
  if (shown.length === 0) return <p class={style.note}>No values</p>
  return (
    <ul class={style.values}>
      {shown.map(({ value, rows }) => (
        <li key={value}>
          <button type="button" onClick={() => onPick(literalOf(value))} title={value}>
            <span>{value.slice(0, VALUE_LENGTH_MAX)}</span>
            <span class={style.type}>{formatCompact(rows)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

const VALUE_LENGTH_MAX = 100
const NUMBER = /^-?\d{1,15}(\.\d+)?$/

/** A value as a literal in a query's text. */
const literalOf = (value: string): string =>
  NUMBER.test(value) ? value : `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`

/** The rows that are looked at: examples need no more, and large tables have millions. */
const ROWS_MAX = 10_000
const EXAMPLES_MAX = 5

function useExamples(
  table: string,
  field: string,
): UseQueryResult<readonly ExampleRow[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly ExampleRow[], ApiError>({
    queryKey: ['examples', id, table, field],
    queryFn: async ({ signal }) => {
      const recent = table === 'events' ? 'where timestamp > now() - interval 7 day ' : ''
      const rows = `select toString(${field}) as value from ${table} ${recent}limit ${ROWS_MAX}`
      const query = `select value, count() as rows from (${rows}) group by value order by rows desc, value limit ${EXAMPLES_MAX}`
      const { results } = await ask(id, { kind: 'HogQLQuery', query }, { signal })
      return results.map(([value, count]) => [cellText(value), Number(count)])
    },
    staleTime: 300_000,
    retry: false,
  })
}
