/** Shows the result of a run: rows as a table or a chart, or the error. */
import type { UseQueryResult } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ApiError } from '../../../api/calls/call.ts'
import { useSettled } from '../../../api/definitions.ts'
import { Button } from '../../../parts/button.tsx'
import { Choice } from '../../../parts/fields/choice.tsx'
import { formatDuration, formatNumber } from '../../../parts/format.ts'
import { EmptyNote } from '../../../parts/notes/empty-note.tsx'
import { ErrorNote, errorText } from '../../../parts/notes/error-note.tsx'
import { Loaded } from '../../../parts/notes/loaded.tsx'
import { Table, type TableColumn } from '../../../parts/table.tsx'
import { SEARCH_LENGTH_MAX, useParam } from '../../../state/url.ts'
import type { HogQLNode } from '../node.ts'
import style from '../sql.module.css'
import { ALL_ROWS_MAX, type AllRows, useAllRows } from './all-rows.ts'
import { cellOrder, cellText, type SqlRow, shownText } from './cells.ts'
import { ResultChart } from './result-chart.tsx'
import type { SqlAnswer } from './run.ts'
import { RESULT_VIEWS, readView } from './views.ts'

type ResultsProps = {
  readonly of: UseQueryResult<SqlAnswer, ApiError>
  /** The query of the run; another key is another run. */
  readonly node: HogQLNode
  readonly run_key: string
  readonly actions: VNode
  /** Draws why there is no answer. */
  readonly refusal: (error: ApiError) => VNode
}

/** Draws the answer under a line with the number of rows and the time. */
export function Results({ of, node, run_key, actions, refusal }: ResultsProps): VNode {
  const is_cancelled = of.data === undefined && of.error === null && !of.isFetching
  return (
    <section class={style.results} aria-label="Result">
      {of.error !== null && !of.isFetching ? (
        refusal(of.error)
      ) : is_cancelled ? (
        <EmptyNote title="Cancelled">
          <p>The server has stopped running it.</p>
        </EmptyNote>
      ) : (
        <Loaded of={of}>
          {(answer) => <Answer answer={answer} node={node} run_key={run_key} actions={actions} />}
        </Loaded>
      )}
    </section>
  )
}

type ShownAnswerProps = Omit<ResultsProps, 'of' | 'refusal'> & { readonly answer: SqlAnswer }

function Answer({ answer, node, run_key, actions }: ShownAnswerProps): VNode {
  const { columns = [], results, hasMore = false, waited_ms } = answer
  const [view_text, setView] = useParam('view', 'table')
  const [filter, setFilter] = useParam('rows')
  const view = readView(view_text)
  const all = useAllRows(run_key)
  const rows = all.rows ?? results
  const sought = useSettled(filter).trim().toLowerCase()
  const shown = useMemo(() => filterRows(rows, sought), [rows, sought])
  const has_more = all.rows === null ? hasMore : all.has_more
  const count = `${formatNumber(rows.length)}${has_more ? '+' : ''} ${rows.length === 1 ? 'row' : 'rows'}`
  return (
    <>
      <header>
        <p role="status">
          {sought === '' ? count : `${formatNumber(shown.length)} of ${count}`}
          <span> · {formatDuration(waited_ms / 1000)}</span>
        </p>
        <div>
          <input
            type="search"
            class="field"
            placeholder="Filter rows"
            maxLength={SEARCH_LENGTH_MAX}
            aria-label="Filter rows"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value, { is_typing: true })}
          />
          <Choice
            label="Show the rows as"
            options={RESULT_VIEWS}
            value={view}
            onChange={(chosen) => setView(chosen)}
          />
          {actions}
        </div>
      </header>
      {view === 'table' ? (
        <Grid columns={columns} rows={shown} />
      ) : (
        <ResultChart columns={columns} rows={shown} view={view} />
      )}
      {has_more && <MoreRows all={all} onLoad={() => all.load(node, columns)} />}
    </>
  )
}

function MoreRows({ all, onLoad }: { readonly all: AllRows; readonly onLoad: () => void }): VNode {
  const most = formatNumber(ALL_ROWS_MAX)
  if (all.error !== null) return <ErrorNote message={errorText(all.error)} onRetry={onLoad} />
  if (all.rows !== null) {
    return <p class={style.more}>There are more than {most} rows. An export has all of them.</p>
  }
  return (
    <p class={style.more}>
      There are more rows.{' '}
      <Button onClick={onLoad} disabled={all.is_loading}>
        {all.is_loading ? 'Loading…' : `Load up to ${most}`}
      </Button>{' '}
      An export has all of them.
    </p>
  )
}

/** The rows with a cell that contains a text, which is in small letters. */
function filterRows(rows: readonly SqlRow[], text: string): readonly SqlRow[] {
  if (text === '') return rows
  return rows.filter((row) => row.some((cell) => cellText(cell).toLowerCase().includes(text)))
}

type GridRow = { readonly cells: SqlRow; readonly index: number }
type GridProps = { readonly columns: readonly string[]; readonly rows: readonly SqlRow[] }

const TABLE_PX = 560

function Grid({ columns, rows }: GridProps): VNode {
  const items = useMemo(() => rows.map((cells, index): GridRow => ({ cells, index })), [rows])
  const shape = useMemo(() => columnsOf(columns, rows), [columns, rows])
  return (
    <Table
      label="Rows"
      columns={shape}
      rows={items}
      rowKey={({ index }) => index}
      height_max={TABLE_PX}
    />
  )
}

const CELL_LENGTH_MAX = 300
const TITLE_LENGTH_MAX = 1000
/** Longer tables are drawn in parts: there the first rows decide how wide a column is. */
const SAMPLE_ROWS = 200
const WIDTH_MIN_CH = 6
const WIDTH_MAX_CH = 48

function columnsOf(
  columns: readonly string[],
  rows: readonly SqlRow[],
): readonly TableColumn<GridRow>[] {
  const sample = rows.slice(0, SAMPLE_ROWS)
  const is_long = rows.length > SAMPLE_ROWS
  return columns.map((title, at) => {
    const lengths = sample.map((row) => shownText(row[at]).length)
    const widest = Math.max(WIDTH_MIN_CH, title.length, ...lengths)
    const width = is_long ? `${Math.min(WIDTH_MAX_CH, widest + 1)}ch` : undefined
    const is_number = sample.some((row) => typeof row[at] === 'number')
    return {
      name: `${at}`,
      title,
      is_number,
      sortBy: ({ cells }) => cellOrder(cells[at]),
      cell: ({ cells }) => <Cell value={cells[at]} width={width} is_number={is_number} />,
    }
  })
}

type CellProps = {
  readonly value: unknown
  readonly width: string | undefined
  /** Of a column of numbers. */
  readonly is_number: boolean
}

function Cell({ value, width, is_number }: CellProps): VNode {
  const is_null = value === null || value === undefined
  const text = is_null ? 'null' : shownText(value)
  return (
    <span
      class={`${style.cell} ${is_null ? style.null : ''} ${is_number ? style.number : ''}`}
      title={typeof value === 'number' ? String(value) : shortenText(text, TITLE_LENGTH_MAX)}
      style={{ width }}
    >
      {shortenText(text, CELL_LENGTH_MAX)}
    </span>
  )
}

const shortenText = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text
