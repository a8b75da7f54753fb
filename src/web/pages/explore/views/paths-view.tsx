/** The flows of PathsQuery. */
import type { VNode } from 'preact'
import type { PathsEdgeAnswer } from '../../../../contract/insights/answers.ts'
import { readPathNode } from '../../../parts/charts/path-names.ts'
import { PathsChart } from '../../../parts/charts/paths-chart.tsx'
import { edgeNumber, pathSource } from './paths-answer.ts'
import type { ViewProps } from './view.ts'

/** Draws the paths. */
export function PathsView({
  query,
  results,
  onPick,
}: ViewProps<readonly PathsEdgeAnswer[]>): VNode {
  return (
    <PathsChart
      label="Paths"
      links={results}
      onPickLink={(link) => onPick(edgeNumber(query, link))}
      onPickNode={(name, value) => {
        const { text, step } = readPathNode(name)
        // All who came to a step: its edges' end; those of the first step have none before it.
        const key = step === 1 ? 'pathStartKey' : 'pathEndKey'
        onPick({
          title: `${text} · step ${step}`,
          value,
          source: pathSource(query, { [key]: name }),
        })
      }}
    />
  )
}
