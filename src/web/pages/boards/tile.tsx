/** One tile of a board: an insight with its chart, or a text. */
import type { ComponentChildren, VNode } from 'preact'
import type { TileLayout } from '../../api/boards.ts'
import type { AnswerOf, AnyQuery } from '../../api/calls/ask.ts'
import type { AnswerTable } from '../../parts/answer/answer-table.ts'
import { ChartHeight } from '../../parts/charts/time/height.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Table } from '../../parts/table.tsx'
import { derivedName } from '../explore/derived-name.ts'
import { isObject, readQuery } from '../explore/explore-query.ts'
import { KIND_VIEWS } from '../explore/views/views.ts'
import { cellText, type SqlRow, shownText } from '../sql/results/cells.ts'
import { ResultChart } from '../sql/results/result-chart.tsx'
import { viewOfDisplay } from '../sql/results/views.ts'
import style from './boards.module.css'
import { ROW_PX } from './layout.ts'

type TileFrameProps = {
  /** The label of the tile for screen readers. */
  readonly label: string
  readonly layout: TileLayout
  readonly head: ComponentChildren
  readonly children: ComponentChildren
  /** By which a tile that is dragged finds the one below it. */
  readonly id: number
  readonly is_target?: boolean
}

/** Draws a tile of the size of its layout. */
export function TileFrame(props: TileFrameProps): VNode {
  const { label, layout, head, children, id, is_target = false } = props
  const { w, h } = layout
  return (
    <article
      class={`${style.tile} ${is_target ? style.target : ''}`}
      style={{ gridColumnEnd: `span ${w}`, minHeight: h * ROW_PX }}
      aria-label={label}
      data-tile={id}
    >
      {head !== null && <header>{head}</header>}
      {children}
    </article>
  )
}

/** The name of a tile's insight. */
export function insightName(insight: {
  readonly name: string | null
  readonly derived_name?: string | null
  readonly query: unknown
}): string {
  const query = readQuery(insight.query)
  return insight.name || insight.derived_name || (query ? derivedName(query) : 'Insight')
}

/** The query that a tile asks, without the wrapper of saved insights; null for kinds that no tile draws. */
export function tileQuery(query: unknown): AnyQuery | null {
  const explored = readQuery(query)
  if (explored !== null) return explored
  const source = isObject(query) && isObject(query['source']) ? query['source'] : query
  return isObject(source) && source['kind'] === 'HogQLQuery' ? (source as AnyQuery) : null
}

/** Height of the title above a chart and of the space below it. */
const AROUND_PX = 80

type TileAnswerProps = {
  readonly query: unknown
  readonly answer: AnswerOf
  readonly timezone: string
  readonly layout: TileLayout
}

/** Draws an answer: the chart of its kind, or rows. */
export function TileAnswer({ query, answer, timezone, layout }: TileAnswerProps): VNode {
  const explored = readQuery(query)
  const { results } = answer
  const height = Math.max(120, layout.h * ROW_PX - AROUND_PX)
  if (explored === null) {
    const rows = { columns: answer.columns ?? [], rows: results as readonly SqlRow[], height }
    const view = viewOfDisplay(isObject(query) ? query['display'] : null)
    return view === 'table' ? <TileRows {...rows} /> : <ResultChart {...rows} view={view} />
  }
  const { View, isEmpty } = KIND_VIEWS[explored.kind]
  if (isEmpty(results)) return <EmptyNote title="No data in this range" />
  return (
    <ChartHeight.Provider value={height}>
      <View
        query={explored}
        results={results}
        timezone={timezone}
        annotations={[]}
        onPick={() => undefined}
        onMark={() => undefined}
      />
    </ChartHeight.Provider>
  )
}

/** The rows of a tile's answer, for a file. */
export function tileTable(query: unknown, { results, columns = [] }: AnswerOf): AnswerTable {
  const explored = readQuery(query)
  if (explored !== null) return KIND_VIEWS[explored.kind].tableOf(explored, results)
  const rows = results as readonly SqlRow[]
  return { columns, rows: rows.map((row) => row.map((cell) => ({ value: cellValue(cell) }))) }
}

const cellValue = (cell: unknown): string | number | null =>
  typeof cell === 'number' || cell === null ? cell : cellText(cell)

/** In place of a chart that the interface does not draw. */
export function NoChart(): VNode {
  return (
    <EmptyNote title="No chart for this kind of query">
      <p>The API answers it.</p>
    </EmptyNote>
  )
}

type TileRowsProps = {
  readonly columns: readonly string[]
  readonly rows: readonly SqlRow[]
  readonly height: number
}

function TileRows({ columns, rows, height }: TileRowsProps): VNode {
  return (
    <Table
      label="Rows"
      columns={columns.map((title, at) => ({
        name: `${at}`,
        title,
        is_number: rows.some((row) => typeof row[at] === 'number'),
        cell: ({ cells }: { readonly cells: SqlRow }) => shownText(cells[at]),
      }))}
      rows={rows.map((cells, index) => ({ cells, index }))}
      rowKey={({ index }) => index}
      height_max={height}
    />
  )
}
