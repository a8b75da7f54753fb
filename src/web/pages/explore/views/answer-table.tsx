/** The numbers of an answer as a table; those with persons behind them are buttons. */
import type { VNode } from 'preact'
import type { AnswerCell, AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { formatNumber } from '../../../parts/format.ts'
import { Table, type TableColumn } from '../../../parts/table.tsx'
import style from './result.module.css'

type AnswerTableViewProps = {
  readonly table: AnswerTable
  readonly onPick: (clicked: ClickedNumber) => void
}

type NumberedRow = { readonly index: number; readonly cells: readonly AnswerCell[] }

/** Draws the table; a column of numbers is aligned to the right and can be sorted. */
export function AnswerTableView({ table, onPick }: AnswerTableViewProps): VNode {
  const rows = table.rows.map((cells, index): NumberedRow => ({ index, cells }))
  const columns = table.columns.map((title, column): TableColumn<NumberedRow> => {
    const is_number = table.rows.some((cells) => typeof cells[column]?.value === 'number')
    return {
      name: String(column),
      title,
      is_number,
      sortBy: ({ cells }) => cells[column]?.value ?? null,
      cell: ({ cells }) => <Cell cell={cells[column]} onPick={onPick} />,
    }
  })
  return (
    <Table
      label="Numbers of the answer"
      columns={columns}
      rows={rows}
      rowKey={({ index }) => index}
      height_max={480}
    />
  )
}

type AnswerCellProps = {
  readonly cell: AnswerCell | undefined
  readonly onPick: (clicked: ClickedNumber) => void
}

function Cell({ cell, onPick }: AnswerCellProps): VNode {
  const { value = null, text, clicked } = cell ?? {}
  const shown = text ?? (typeof value === 'string' ? value : formatNumber(value))
  if (clicked === undefined || value === null) return <span title={shown}>{shown}</span>
  return (
    <button type="button" class={style.number} onClick={() => onPick(clicked)}>
      {shown}
    </button>
  )
}
