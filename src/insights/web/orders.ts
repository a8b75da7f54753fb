/** Orders of web tables: the column that the query names, then the table's own columns. */
import { refuseMember } from '../../errors.ts'
import type { OrderExpr } from '../../hogql/syntax/ast.ts'
import { field, order } from '../../hogql/syntax/nodes.ts'

/** The columns of all tables, as `orderBy` names them. */
const SORTED_BY = [
  'Visitors',
  'Views',
  'AvgTimeOnPage',
  'BounceRate',
  'AverageScrollPercentage',
  'ScrollGt80Percentage',
  'TotalConversions',
  'UniqueConversions',
  'ConversionRate',
  'Clicks',
  'RageClicks',
  'DeadClicks',
  'Errors',
] as const

/** One figure of a table; `sorted_by` is its name in `orderBy`. */
export type WebColumn = { readonly name: string; readonly sorted_by: (typeof SORTED_BY)[number] }

type WebOrders = {
  /** Members of a query: a column and a direction. */
  readonly orderBy?: readonly string[] | null | undefined
  readonly columns: readonly WebColumn[]
  /** The columns that decide without `orderBy`, and among ties; the largest first. */
  readonly usual: readonly WebColumn[]
}

/**
 * Ties are in the direction of the query, then by value. A column that only other tables have is left out: clients send
 * one order to all tables of a page. Refuses (`invalid_input`) unknown columns.
 */
export function webOrders({ orderBy, columns, usual }: WebOrders): readonly OrderExpr[] {
  if (!orderBy || orderBy.length === 0) return ordersBy(usual, 'DESC')
  const [name, direction = 'DESC'] = orderBy
  if (!SORTED_BY.some((column) => column === name) || !/^(asc|desc)$/i.test(direction)) {
    const detail = `Tables are ordered by one of ${SORTED_BY.join(', ')}, ASC or DESC.`
    throw refuseMember(detail, 'query__orderBy')
  }
  const sort_columns = columns.filter(({ sorted_by }) => sorted_by === name)
  return ordersBy([...sort_columns, ...usual], direction.toUpperCase() === 'ASC' ? 'ASC' : 'DESC')
}

function ordersBy(columns: readonly WebColumn[], direction: 'ASC' | 'DESC'): readonly OrderExpr[] {
  return [
    ...columns.map(({ name }) => order(field([`${name}_now`]), direction)),
    order(field(['value'])),
  ]
}
