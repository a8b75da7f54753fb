/**
 * Pass setWeekStarts: weeks begin on the day that the project has chosen, also where ClickHouse's function would take Sunday.
 *
 *   toStartOfWeek(timestamp)
 *   → toStartOfWeek(timestamp, 1)
 */

import { mapStatement, type Pass } from '../passes/walk.ts'
import { bindInt } from '../sql/sql-fragments.ts'

const MONDAY_FIRST = 1

export const setWeekStarts: Pass = (statement, { week_start_day }) =>
  week_start_day === 0
    ? statement
    : mapStatement(statement, {
        expr: (expr) =>
          expr.kind === 'apply' && expr.name === 'toStartOfWeek' && expr.args.length === 1
            ? { ...expr, args: [...expr.args, bindInt(MONDAY_FIRST)] }
            : expr,
      })
