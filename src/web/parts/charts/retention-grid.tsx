/** Retention: a row per beginning, a column per period after it; the darker, the more came back. */
import type { VNode } from 'preact'
import { formatNumber, formatPercent } from '../format.ts'
import { SideScroll } from '../side-scroll.tsx'
import style from './retention-grid.module.css'

type RetentionGridRow = {
  readonly key: string
  /** The period in which these began: in short, and in full. */
  readonly text: string
  readonly title: string
  /** The first is how many began. */
  readonly counts: readonly number[]
}

type RetentionGridProps = {
  readonly label: string
  /** The heading of the first column: `Week`. */
  readonly unit: string
  readonly rows: readonly RetentionGridRow[]
  /** The last period of every row is not over yet. */
  readonly is_last_incomplete: boolean
  readonly onPick: (row: number) => void
}

/** Draws the grid with the mean of all rows above it; a click on a row lists its actors. */
export function RetentionGrid(props: RetentionGridProps): VNode {
  const { label, unit, rows, is_last_incomplete, onPick } = props
  const width = Math.max(0, ...rows.map(({ counts }) => counts.length))
  const columns = Array.from({ length: width }, (_, index) => index)
  return (
    <SideScroll label={label}>
      <table class={style.grid}>
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col" class={style.size}>
              Size
            </th>
            {columns.map((index) => (
              <th key={index} scope="col">
                {unit} {index}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr class={style.mean}>
            <th scope="row">Mean</th>
            <td class={style.size} />
            {columns.map((index) => (
              <Cell key={index} share={meanShare(rows, index, is_last_incomplete)} />
            ))}
          </tr>
          {rows.map((row, at) => (
            <tr key={row.key}>
              <th scope="row">
                <button type="button" onClick={() => onPick(at)} title={`${row.title}: who`}>
                  {row.text}
                </button>
              </th>
              <td class={style.size}>{formatNumber(row.counts[0] ?? 0)}</td>
              {columns.map((index) => (
                <Cell
                  key={index}
                  share={shareOf(row, index)}
                  count={row.counts[index]}
                  is_incomplete={is_last_incomplete && index === row.counts.length - 1}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </SideScroll>
  )
}

type GridCellProps = {
  readonly share: number | null
  readonly count?: number | undefined
  readonly is_incomplete?: boolean
}

function Cell({ share, count, is_incomplete = false }: GridCellProps): VNode {
  if (share === null) return <td />
  const title =
    count === undefined
      ? undefined
      : `${formatNumber(count)} persons${is_incomplete ? ', so far' : ''}`
  return (
    <td
      class={`${style.cell} ${is_incomplete ? style.incomplete : ''}`}
      style={{ '--share': `${Math.round(share * 100)}%` }}
      title={title}
    >
      {formatPercent(share)}
    </td>
  )
}

function shareOf({ counts }: RetentionGridRow, index: number): number | null {
  const [size = 0] = counts
  const count = counts[index]
  return count === undefined || size === 0 ? null : count / size
}

/** Weighted by size; periods that are not over are left out. */
function meanShare(
  rows: readonly RetentionGridRow[],
  index: number,
  is_last_incomplete: boolean,
): number | null {
  const whole = rows.filter(({ counts }) => counts.length - (is_last_incomplete ? 1 : 0) > index)
  const size = whole.reduce((sum, { counts }) => sum + (counts[0] ?? 0), 0)
  const back = whole.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0)
  return size === 0 ? null : back / size
}
