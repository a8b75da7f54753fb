/** A table of rows: sorted by its columns, wide ones scroll inside, long ones draw only visible rows. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import style from './table.module.css'

export type TableColumn<Item> = {
  readonly name: string
  readonly title: ComponentChildren
  readonly cell: (item: Item) => ComponentChildren
  /** Numbers are aligned to the right. */
  readonly is_number?: boolean
  /** Returns the sort key of a row; a column without it cannot be sorted. */
  readonly sortBy?: (item: Item) => number | string | null
  /** Left out where a list has little room. */
  readonly is_wide_only?: boolean
  /** CSS width; without it the column is as wide as its content. */
  readonly width?: string
}

type TableOrder = { readonly column: string; readonly is_descending: boolean }

type TableProps<Item> = {
  /** The label of the table for screen readers. */
  readonly label: string
  readonly columns: readonly TableColumn<Item>[]
  readonly rows: readonly Item[]
  readonly rowKey: (item: Item) => string | number
  /** Opens a row; the row's first cell becomes a button for the keyboard. */
  readonly onOpen?: (item: Item) => void
  /** The address of a row's own page, in place of `onOpen`; the first cell becomes a link. */
  readonly hrefOf?: (item: Item) => string
  /** The key of the opened row. */
  readonly open_key?: string | number | null
  readonly order?: TableOrder
  /** Height in px, at most that of the window, beyond which the rows scroll under a fixed head, and only those in sight are drawn. */
  readonly height_max?: number
}

/** Rows have one height when only those in sight are drawn; under fingers 44 px and the line below. */
const ROW_PX = matchMedia('(pointer: coarse)').matches ? 45 : 40
/** Shorter tables are drawn whole, unless they are wide: a browser's own search then finds everything. */
const DRAWN_MAX = 200
const DRAWN_CELLS_MAX = 4000
/** Rows above and below those in sight; of wide tables fewer. */
const MARGIN_ROWS = 20
const MARGIN_CELLS = 400
/** Rows below those in sight of a table at its top: a live list draws all of them again each second. */
const MARGIN_ROWS_AT_TOP = 5

/** Draws the table. */
export function Table<Item>(props: TableProps<Item>): VNode {
  const { label, columns, rows, rowKey, height_max, hrefOf } = props
  const [, navigate] = useLocation()
  const { onOpen = hrefOf && ((item: Item) => navigate(hrefOf(item))) } = props
  const [order, setOrder] = useState<TableOrder | null>(props.order ?? null)
  // Scrolling draws again, and must not sort a hundred thousand rows each time.
  const sorted = useMemo(() => sortRows(rows, columns, order), [rows, columns, order])
  const { box, from, to } = useWindow(sorted.length, columns.length, height_max)
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
    <div
      ref={box}
      class={style.box}
      style={{
        '--row': `${ROW_PX}px`,
        maxHeight: height_max && `min(${height_max}px, var(--list))`,
      }}
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <table class={`${style.table} ${onOpen ? style.list : ''}`} aria-rowcount={sorted.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <HeadCell key={column.name} column={column} order={order} onOrder={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={from} columns={columns.length} />
          {sorted.slice(from, to).map((item, index) => (
            <TableRow
              key={rowKey(item)}
              {...props}
              {...(onOpen && { onOpen })}
              item={item}
              index={from + index}
            />
          ))}
          <Gap rows={sorted.length - to} columns={columns.length} />
        </tbody>
      </table>
    </div>
  )
}

type HeadCellProps<Item> = {
  readonly column: TableColumn<Item>
  readonly order: TableOrder | null
  readonly onOrder: (order: TableOrder) => void
}

function HeadCell<Item>({ column, order, onOrder }: HeadCellProps<Item>): VNode {
  const { name, title, is_number = false, sortBy, width } = column
  const is_sorted = order?.column === name
  const is_descending = is_sorted ? order.is_descending : !is_number
  const direction = is_sorted ? (order.is_descending ? 'descending' : 'ascending') : undefined
  return (
    <th
      scope="col"
      class={cellClass(column)}
      style={{ width }}
      {...(direction && { 'aria-sort': direction })}
    >
      {sortBy === undefined ? (
        title
      ) : (
        <button
          type="button"
          onClick={() => onOrder({ column: name, is_descending: !is_descending })}
        >
          {title}
          <span aria-hidden="true" class={style.arrow}>
            {is_sorted && (order.is_descending ? '↓' : '↑')}
          </span>
        </button>
      )}
    </th>
  )
}

type TableRowProps<Item> = TableProps<Item> & { readonly item: Item; readonly index: number }

function TableRow<Item>(props: TableRowProps<Item>): VNode {
  const { item, index, columns, rowKey, onOpen, open_key } = props
  const is_open = open_key !== undefined && open_key !== null && rowKey(item) === open_key
  return (
    // The button in the first cell does the same by keyboard.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <tr
      aria-rowindex={index + 2}
      class={`${onOpen ? style.opens : ''} ${is_open ? style.open : ''}`}
      onClick={onOpen && (() => onOpen(item))}
    >
      {columns.map((column, at) => (
        <td key={column.name} class={cellClass(column)}>
          {at === 0 ? <FirstCell {...props} is_open={is_open} /> : column.cell(item)}
        </td>
      ))}
    </tr>
  )
}

function FirstCell<Item>(props: TableRowProps<Item> & { readonly is_open: boolean }) {
  const { item, columns, onOpen, hrefOf, is_open } = props
  const cell = columns[0]?.cell(item)
  if (hrefOf !== undefined)
    return (
      // With Ctrl a new tab opens, and this one stays: the row need not know of it.
      <Link
        href={hrefOf(item)}
        class={style.opener}
        onClick={(event: Event) => event.stopPropagation()}
      >
        {cell}
      </Link>
    )
  if (onOpen === undefined) return <>{cell}</>
  return (
    <button type="button" class={style.opener} aria-expanded={is_open}>
      {cell}
    </button>
  )
}

function cellClass<Item>({ is_number, is_wide_only }: TableColumn<Item>): string {
  return `${is_number ? style.number : ''} ${is_wide_only ? style.wideOnly : ''}`
}

/** Empty space as high as rows that are not drawn. */
function Gap({ rows, columns }: { readonly rows: number; readonly columns: number }): VNode | null {
  if (rows <= 0) return null
  return (
    <tr aria-hidden="true">
      <td colSpan={columns} style={{ height: rows * ROW_PX, padding: 0, border: 0 }} />
    </tr>
  )
}

/** Chooses the rows of a scrolled box that are drawn. */
function useWindow(count: number, width: number, height_max: number | undefined) {
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const is_long = height_max !== undefined && (count > DRAWN_MAX || count * width > DRAWN_CELLS_MAX)
  useEffect(() => {
    const element = box.current
    if (!is_long || element === null) return undefined
    const follow = (): void => setTop(Math.floor(element.scrollTop / ROW_PX))
    element.addEventListener('scroll', follow, { passive: true })
    return () => element.removeEventListener('scroll', follow)
  }, [is_long])
  if (!is_long) return { box, from: 0, to: count }
  const rows_max = top === 0 ? MARGIN_ROWS_AT_TOP : MARGIN_ROWS
  const margin = Math.min(rows_max, Math.ceil(MARGIN_CELLS / Math.max(1, width)))
  const from = Math.max(0, Math.min(top, count) - margin)
  const in_sight = Math.ceil(height_max / ROW_PX)
  return { box, from, to: Math.min(count, top + in_sight + margin) }
}

/** Empty values come last in both directions. */
function sortRows<Item>(
  rows: readonly Item[],
  columns: readonly TableColumn<Item>[],
  order: TableOrder | null,
): readonly Item[] {
  const sortBy = columns.find(({ name }) => name === order?.column)?.sortBy
  if (order === null || sortBy === undefined) return rows
  const sign = order.is_descending ? -1 : 1
  const keyed = rows.map((item) => ({ item, key: sortBy(item) }))
  keyed.sort(({ key: left }, { key: right }) => {
    if (left === null || right === null) return Number(left === null) - Number(right === null)
    if (typeof left === 'number' && typeof right === 'number') return sign * (left - right)
    return sign * COLLATOR.compare(String(left), String(right))
  })
  return keyed.map(({ item }) => item)
}

const COLLATOR = new Intl.Collator()
