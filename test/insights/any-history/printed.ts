/**
 * The law of printed HogQL: what an insight answers as `hogql`, asked as a HogQLQuery, has the rows
 * that the insight counted.
 */
import { expect } from 'bun:test'
import type { InsightContext, RunTree } from '../../../src/insights/insight.ts'
import { insightOf } from '../../../src/insights/kinds.ts'
import type { InsightQueryNode } from '../../../src/query/kinds/insight.ts'

type Rows = readonly (readonly unknown[])[]

export type PrintedRuns = {
  readonly runTree: RunTree
  /** Runs a text as a caller's, with a caller's limits. */
  readonly runText: (text: string) => Promise<Rows>
}

/**
 * Asks an insight, then its printed text. Trees that only prepare a query (bins, first events, the
 * people behind ids) are not printed; all others are, several as one union with a column `line`.
 */
export async function expectSameRows(
  query: InsightQueryNode,
  context: InsightContext,
  { runTree, runText }: PrintedRuns,
): Promise<void> {
  const asked: { readonly hogql: string; readonly rows: Rows }[] = []
  const { hogql } = await insightOf(query.kind, query)(context, async (tree) => {
    const answer = await runTree(tree)
    asked.push(answer)
    return answer
  })
  if (hogql === null || hogql === '') return
  const lines: Rows[] = []
  let rest = hogql
  for (const { hogql: part, rows } of asked) {
    if (!rest.includes(part)) continue
    rest = rest.replace(part, () => '')
    lines.push(rows)
  }
  expect(rest.replaceAll(UNION, '')).toBe('')
  const again = await runText(hogql)
  if (lines.length === 1) {
    expect({ hogql, rows: sorted(again) }).toEqual({ hogql, rows: sorted(lines[0] ?? []) })
    return
  }
  // Columns of a union are text where lines differ in type: some count buckets, others date them.
  const rows = lines.flatMap((line, index) => line.map((row) => [index, ...row].map(textOf)))
  const texts = again.map((row) => row.map(textOf))
  expect({ hogql, rows: sorted(texts) }).toEqual({ hogql, rows: sorted(rows) })
}

const textOf = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value)

/** What a union has besides its parts. */
const UNION = /SELECT \d+ AS line, \* FROM|UNION ALL|LIMIT \d+$|[()\s]/g

const sorted = (rows: Rows): readonly string[] => rows.map((row) => JSON.stringify(row)).toSorted()
