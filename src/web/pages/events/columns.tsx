/** The columns of the list of events: those that are always there, and properties of one's choice. */
import type { VNode } from 'preact'
import { type ListedEvent, senderOf } from '../../api/events.ts'
import { Ago } from '../../parts/ago.tsx'
import { IconButton } from '../../parts/button.tsx'
import { type OfferedProperties, PropertyList } from '../../parts/filters/property-list.tsx'
import { eventTitle, propertyTitle } from '../../parts/names.ts'
import { Popover } from '../../parts/overlays/popover.tsx'
import { valueText } from '../../parts/property-value.tsx'
import type { TableColumn } from '../../parts/table.tsx'
import { readStored, store } from '../../state/store.ts'
import { useParam } from '../../state/url.ts'
import style from './events.module.css'

/** A property: `event:$current_url`, `person:email`. */
type ShownProperty = string

const DEFAULT_COLUMNS: readonly ShownProperty[] = ['event:$current_url', 'event:$lib']
const COLUMNS_MAX = 12
const STORED = 'events.columns'

/** The chosen columns: in the address, else as this browser had them last. */
export function useColumns(): readonly [
  readonly ShownProperty[],
  (columns: readonly ShownProperty[]) => void,
] {
  const [text, setText] = useParam('columns')
  const chosen = readColumns(text) ?? readColumns(readStored(STORED) ?? '') ?? DEFAULT_COLUMNS
  const change = (columns: readonly ShownProperty[]): void => {
    const json = JSON.stringify(columns)
    store(STORED, json)
    setText(json)
  }
  return [chosen, change]
}

function readColumns(text: string): readonly ShownProperty[] | null {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value)) return null
    return value
      .filter((one): one is string => typeof one === 'string' && /^(event|person):./.test(one))
      .slice(0, COLUMNS_MAX)
  } catch {
    return null
  }
}

type ColumnsProps = {
  readonly columns: readonly ShownProperty[]
  readonly event_names: readonly string[]
  readonly onChange: (columns: readonly ShownProperty[]) => void
}

/** The button that opens the choice of columns. */
export function ColumnChoice({ columns, event_names, onChange }: ColumnsProps): VNode {
  return (
    <Popover label="Columns" text="Columns" is_bare>
      {() => (
        <div class={style.columns}>
          <ul>
            {columns.map((column) => (
              <li key={column}>
                <span>{titleOf(column)}</span>
                <IconButton
                  icon="close"
                  label={`Remove the column ${titleOf(column)}`}
                  onClick={() => onChange(columns.filter((one) => one !== column))}
                />
              </li>
            ))}
          </ul>
          {columns.length < COLUMNS_MAX && (
            <PropertyList
              event_names={event_names}
              offered={COLUMN_OWNERS}
              onPick={({ type, key }) => {
                const column = `${type}:${key}`
                if (!columns.includes(column)) onChange([...columns, column])
              }}
            />
          )}
        </div>
      )}
    </Popover>
  )
}

/** A listed event comes with its own properties and those of its person. */
const COLUMN_OWNERS: OfferedProperties = { owners: ['event', 'person'] }

const nameOf = (column: ShownProperty): string => column.slice(column.indexOf(':') + 1)
const titleOf = (column: ShownProperty): string => propertyTitle(nameOf(column))

function propertyText(event: ListedEvent, column: ShownProperty): string {
  const properties = column.startsWith('person:') ? event.person?.properties : event.properties
  const value = properties?.[nameOf(column)]
  if (value === undefined || value === null) return '–'
  return valueText(value)
}

/** The columns of the table. */
export function tableColumns(
  columns: readonly ShownProperty[],
): readonly TableColumn<ListedEvent>[] {
  return [
    { name: 'event', title: 'Event', cell: ({ event }) => eventTitle(event) },
    { name: 'person', title: 'Person', cell: senderOf },
    ...columns.map((column) => ({
      name: column,
      title: titleOf(column),
      is_wide_only: true,
      cell: (event: ListedEvent) => propertyText(event, column),
    })),
    {
      name: 'time',
      title: 'Time',
      is_number: true,
      cell: ({ timestamp }) => <Ago iso={timestamp} has_clock />,
    },
  ]
}
