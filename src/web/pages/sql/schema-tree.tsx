/** The tables and their fields; a click puts the name into the text. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ListedTable, useTables } from '../../api/editor.ts'
import { Loaded } from '../../parts/loaded.tsx'
import style from './sql.module.css'

type SchemaTreeProps = { readonly onPick: (text: string) => void }

/** Draws the tree with a search; tables of the server's own definitions come last. */
export function SchemaTree({ onPick }: SchemaTreeProps): VNode {
  const [search, setSearch] = useState('')
  return (
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
        {(tables) => <Tree tables={tables} search={search.trim().toLowerCase()} onPick={onPick} />}
      </Loaded>
    </nav>
  )
}

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

/** The tables that most questions are about. */
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
          {Object.values(table.fields).map(({ name, hogql_value, type }) => (
            <li key={name}>
              <button type="button" onClick={() => onPick(hogql_value)} title={`Insert ${name}`}>
                <span>{name}</span>
                <span class={style.type}>{type.replace('_table', '')}</span>
              </button>
            </li>
          ))}
        </ul>
      </details>
    </li>
  )
}
