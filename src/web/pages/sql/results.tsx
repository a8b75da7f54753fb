/** What a run gave: rows as a table or a chart, or why not. */
import type { UseQueryResult } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import type { AnswerOf } from '../../api/ask.ts'
import { Choice } from '../../parts/choice.tsx'
import { formatNumber } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { Table, type TableColumn } from '../../parts/table.tsx'
import { useParam } from '../../state/url.ts'
import { cellOrder, cellText, type SqlRow } from './cells.ts'
import { ResultChart } from './result-chart.tsx'
import style from './sql.module.css'

export type SqlAnswer = AnswerOf<readonly SqlRow[]> & {
  /** How long the browser waited, in milliseconds. */
  readonly waited_ms: number
}

type ResultsProps = { readonly of: UseQueryResult<SqlAnswer>; readonly actions: VNode }

const TABLE_PX = 560

/** Draws the answer under a line that says how much it is. */
export function Results({ of, actions }: ResultsProps): VNode {
  const [view, setView] = useParam('view', 'table')
  return (
    <section class={style.results} aria-label="Result">
      <Loaded of={of}>
        {(answer) => (
          <>
            <header>
              <p>
                {formatNumber(answer.results.length)}
                {answer.hasMore === true && '+'} rows
                <span> · {Math.round(answer.waited_ms)} ms</span>
              </p>
              <div>
                <Choice
                  label="Show the rows as"
                  options={VIEWS}
                  value={view === 'chart' ? 'chart' : 'table'}
                  onChange={(chosen) => setView(chosen)}
                />
                {actions}
              </div>
            </header>
            {view === 'chart' ? (
              <ResultChart answer={answer} />
            ) : (
              <Table
                label="Rows"
                columns={columnsOf(answer)}
                rows={answer.results.map((cells, index) => ({ cells, index }))}
                rowKey={({ index }) => index}
                height_max={TABLE_PX}
              />
            )}
            {answer.hasMore === true && (
              <p class={style.more}>
                There are more rows: a LIMIT in the text shows up to 50,000, an export has all.
              </p>
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

const VIEWS = [
  { value: 'table', text: 'Table' },
  { value: 'chart', text: 'Chart' },
] as const

type GridRow = { readonly cells: SqlRow; readonly index: number }

const CELL_LENGTH_MAX = 300
const TITLE_LENGTH_MAX = 1000

function columnsOf({ columns = [], results }: SqlAnswer): readonly TableColumn<GridRow>[] {
  const first = results[0]
  return columns.map((name, at) => ({
    name: `${at}`,
    title: name,
    is_number: typeof first?.[at] === 'number',
    sortBy: ({ cells }) => cellOrder(cells[at]),
    cell: ({ cells }) => <Cell value={cells[at]} />,
  }))
}

function Cell({ value }: { readonly value: unknown }): VNode {
  if (value === null || value === undefined) return <span class={style.null}>null</span>
  const text = typeof value === 'number' ? formatNumber(value) : cellText(value)
  const title = typeof value === 'number' ? String(value) : cut(text, TITLE_LENGTH_MAX)
  return (
    <span class={style.cell} title={title}>
      {cut(text, CELL_LENGTH_MAX)}
    </span>
  )
}

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text
