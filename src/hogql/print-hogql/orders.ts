/** Canonical HogQL of ORDER BY and windows. */

import type { OrderExpr, WindowExpr, WindowFrameExpr } from '../syntax/ast.ts'
import { type HogQLPrinter, joinOperands, printClosed, printItems } from './items.ts'
import { printText } from './names.ts'

/** The contents of a window's brackets. */
export function printWindow(window: WindowExpr, printer: HogQLPrinter): string {
  const { partition_by, order_by, frame_method, frame_start, frame_end } = window
  const parts: string[] = []
  if (partition_by.length > 0) parts.push(`PARTITION BY ${printItems(partition_by, printer)}`)
  if (order_by.length > 0) parts.push(`ORDER BY ${printOrders(order_by, printer)}`)
  if (frame_method !== null && frame_start !== null) {
    const from = printBound(frame_start, printer)
    const frame =
      frame_end === null ? from : `BETWEEN ${from} AND ${printBound(frame_end, printer)}`
    parts.push(`${frame_method} ${frame}`)
  }
  return parts.join(' ')
}

function printBound({ frame_type, frame_value }: WindowFrameExpr, printer: HogQLPrinter): string {
  if (frame_type === 'CURRENT ROW') return frame_type
  return `${frame_value === null ? 'UNBOUNDED' : joinOperands(frame_value, printer)} ${frame_type}`
}

/** The list after ORDER BY. */
export function printOrders(orders: readonly OrderExpr[], printer: HogQLPrinter): string {
  return orders.map((order) => printOrder(order, printer)).join(', ')
}

/** One order with the parts that the text specifies. */
export function printOrder(order: OrderExpr, printer: HogQLPrinter): string {
  const { expr, nulls, collate, with_fill } = order
  const parts = [printClosed(expr, printer), order.order]
  if (nulls !== null) parts.push(`NULLS ${nulls}`)
  if (collate !== null) parts.push(`COLLATE ${printText(collate)}`)
  if (with_fill !== null) {
    parts.push('WITH FILL')
    const { from_value, to_value, step_value } = with_fill
    if (from_value !== null) parts.push(`FROM ${printClosed(from_value, printer)}`)
    if (to_value !== null) parts.push(`TO ${printClosed(to_value, printer)}`)
    if (step_value !== null) parts.push(`STEP ${printClosed(step_value, printer)}`)
  }
  return parts.join(' ')
}
