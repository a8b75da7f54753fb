/** The grid of RetentionQuery. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { RetentionRowAnswer } from '../../../../contract/insights/answers.ts'
import { isIncomplete, timeBuckets } from '../../../parts/charts/chart-data.ts'
import { RetentionGrid } from '../../../parts/charts/retention-grid.tsx'
import { Select } from '../editor/select.tsx'
import { breakdownText } from './answers.ts'
import { periodOf, retentionNumber, rowText, UNIT_INTERVALS } from './retention-answer.ts'
import type { ViewProps } from './view.ts'

/** Draws the grid; with a breakdown that of one value, which is chosen above it. */
export function RetentionView({
  query,
  results,
  timezone,
  onPick,
}: ViewProps<readonly RetentionRowAnswer[]>): VNode {
  const values = [
    ...new Set(results.map(({ breakdown_value }) => breakdownText(breakdown_value ?? 'All'))),
  ]
  const [chosen, setChosen] = useState(values[0] ?? 'All')
  const value = values.includes(chosen) ? chosen : (values[0] ?? 'All')
  const rows = results.filter(
    ({ breakdown_value }) => breakdownText(breakdown_value ?? 'All') === value,
  )
  const period = periodOf(query)
  return (
    <>
      {values.length > 1 && (
        <div>
          <Select
            label="Value of the breakdown"
            value={value}
            options={values.map((one) => ({ value: one, text: one }))}
            onChange={setChosen}
          />
        </div>
      )}
      <RetentionGrid
        label="Retention"
        unit={period}
        rows={rows.map((row) => ({
          key: row.date,
          text: timeBuckets([row.date], UNIT_INTERVALS[period])[0]?.short ?? row.label,
          title: rowText(row, period),
          counts: row.values.map(({ count }) => count),
        }))}
        is_last_incomplete={isIncomplete(rows.at(-1)?.date, UNIT_INTERVALS[period], timezone)}
        onPick={(index) => {
          const row = rows[index]
          if (row !== undefined) onPick(retentionNumber(query, row, index))
        }}
      />
    </>
  )
}
