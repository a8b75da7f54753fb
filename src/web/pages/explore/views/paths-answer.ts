/** The answers of PathsQuery as a table, and the persons behind a number. */
import type { PathsEdgeAnswer } from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { readPathNode } from '../../../parts/charts/path-names.ts'
import { formatDuration } from '../../../parts/format.ts'
import type { ExploreQuery } from '../explore-query.ts'
import { actorsSource } from './numbers.ts'

export function edgeNumber(
  query: ExploreQuery,
  { source, target, value }: Pick<PathsEdgeAnswer, 'source' | 'target' | 'value'>,
): ClickedNumber {
  return {
    title: `${readPathNode(source).text} → ${readPathNode(target).text}`,
    value,
    source: pathSource(query, { pathStartKey: source, pathEndKey: target }),
  }
}

/** The ends of an edge belong to the query's filter, not to the point. */
export function pathSource(query: ExploreQuery, ends: object) {
  return actorsSource({ ...query, pathsFilter: { ...query.pathsFilter, ...ends } }, {})
}

/** A row per edge, the most frequent first. */
export function pathsTable(query: ExploreQuery, results: readonly PathsEdgeAnswer[]): AnswerTable {
  const ranked = results.toSorted((one, other) => other.value - one.value)
  return {
    columns: ['Step', 'From', 'To', 'Persons', 'Mean time'],
    rows: ranked.map((edge) => [
      { value: readPathNode(edge.source).step },
      { value: readPathNode(edge.source).text },
      { value: readPathNode(edge.target).text },
      { value: edge.value, clicked: edgeNumber(query, edge) },
      {
        value: edge.average_conversion_time / 1000,
        text: formatDuration(edge.average_conversion_time / 1000),
      },
    ]),
  }
}
