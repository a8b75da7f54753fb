/** Orders of web tables: the column that the query names, then the table's own columns. */
import { refuseMember } from '../../errors.ts'
import type { OrderExpr } from '../../hogql/syntax/ast.ts'
import { field, order } from '../../hogql/syntax/nodes.ts'

/** One figure of a table; `sorted_by` is its name in `orderBy`. */
export type WebColumn = { readonly name: string; readonly sorted_by: string }

type WebOrders = {
  /** Members of a query: a column and a direction. */
  readonly orderBy?: readonly string[] | null | undefined
  readonly columns: readonly WebColumn[]
  /** The columns that decide without `orderBy`, and among ties; the largest first. */
  readonly usual: readonly WebColumn[]
}

/** Ties are in the direction of the query, then by value. Refuses (`invalid_input`) unknown columns. */
export function webOrders({ orderBy, columns, usual }: WebOrders): readonly OrderExpr[] {
  if (!orderBy || orderBy.length === 0) return ordersBy(usual, 'DESC')
  const [name, direction = 'DESC'] = orderBy
  const column = columns.find(({ sorted_by }) => sorted_by === name)
  if (column === undefined || !/^(asc|desc)$/i.test(direction)) {
    const detail = `Tables are ordered by one of ${columns.map(({ sorted_by }) => sorted_by).join(', ')}, ASC or DESC.`
    throw refuseMember(detail, 'query__orderBy')
  }
  return ordersBy([column, ...usual], direction.toUpperCase() === 'ASC' ? 'ASC' : 'DESC')
}

function ordersBy(columns: readonly WebColumn[], direction: 'ASC' | 'DESC'): readonly OrderExpr[] {
  return [
    ...columns.map(({ name }) => order(field([`${name}_now`]), direction)),
    order(field(['value'])),
  ]
}
