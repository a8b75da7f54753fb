/** A card with tabs of tables: pages, sources, places, devices. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type AnswerOf, useAnswer } from '../../api/ask.ts'
import { Button } from '../../parts/button.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { formatCompact, formatNumber } from '../../parts/format.ts'
import { Loaded } from '../../parts/loaded.tsx'
import { SkeletonBlock } from '../../parts/skeleton.tsx'
import { useParam } from '../../state/url.ts'
import {
  type BreakdownValue,
  breakdownText,
  conditionsOfRow,
  type WebBreakdownCard,
  type WebBreakdownTab,
} from './breakdowns.ts'
import style from './web.module.css'
import { type WebQuestion, webMembers } from './web-question.ts'

/** `[value, [visitors, before], [views, before], …]`; without a comparison the second of each pair is null. */
type WebStatsRow = readonly [
  value: BreakdownValue,
  visitors: readonly [number, number | null],
  views: readonly [number, number | null],
]

const ROWS_AT_FIRST = 9
const ROWS_MAX = 100
const ROW_PX = 32

type BreakdownCardProps = {
  readonly card: WebBreakdownCard
  readonly question: WebQuestion
  readonly onFilter: (conditions: readonly PropertyCondition[]) => void
}

/** Draws the card; its tab is in the address. */
export function BreakdownCard({ card, question, onFilter }: BreakdownCardProps): VNode {
  const first = card.tabs[0]?.by ?? 'Page'
  const [by, setBy] = useParam(card.title.toLowerCase(), first)
  const tab = card.tabs.find((one) => one.by === by) ?? card.tabs[0]
  const [is_long, setLong] = useState(false)
  if (tab === undefined) throw new Error(`the card ${card.title} has no tabs`)
  const answer = useAnswer<readonly WebStatsRow[]>({
    kind: 'WebStatsTableQuery',
    breakdownBy: tab.by,
    limit: is_long ? ROWS_MAX : ROWS_AT_FIRST,
    ...webMembers({ ...question, has_comparison: false }),
  })
  return (
    <section class={style.card} aria-label={card.title}>
      <header>
        <h2>{card.title}</h2>
        <div class={style.tabs}>
          {card.tabs.map(({ by: value, title }) => (
            <button
              key={value}
              type="button"
              aria-pressed={value === tab.by}
              onClick={() => {
                setLong(false)
                setBy(value)
              }}
            >
              {title}
            </button>
          ))}
        </div>
      </header>
      <Loaded
        of={answer}
        skeleton={<SkeletonBlock height={ROW_PX * (ROWS_AT_FIRST + 1)} />}
        isEmpty={({ results }) => results.length === 0}
        empty={<EmptyNote title="Nothing in this range" />}
      >
        {(found) => <Rows tab={tab} answer={found} onFilter={onFilter} />}
      </Loaded>
      {answer.data?.hasMore === true && !is_long && (
        <footer>
          <Button look="quiet" onClick={() => setLong(true)}>
            Show more
          </Button>
        </footer>
      )}
    </section>
  )
}

type RowsProps = {
  readonly tab: WebBreakdownTab
  readonly answer: AnswerOf<readonly WebStatsRow[]>
  readonly onFilter: (conditions: readonly PropertyCondition[]) => void
}

function Rows({ tab, answer, onFilter }: RowsProps): VNode {
  const most = Math.max(1, ...answer.results.map(([, [visitors]]) => visitors))
  return (
    <table class={style.rows}>
      <thead>
        <tr>
          <th scope="col">{tab.title}</th>
          <th scope="col">Visitors</th>
          <th scope="col" class={style.views}>
            Views
          </th>
        </tr>
      </thead>
      <tbody>
        {answer.results.map(([value, [visitors], [views]]) => {
          const text = breakdownText(tab, value)
          return (
            <tr key={JSON.stringify(value)}>
              <th scope="row">
                <span
                  class={style.bar}
                  style={{ inlineSize: `${(100 * visitors) / most}%` }}
                  aria-hidden="true"
                />
                <button
                  type="button"
                  title={text}
                  aria-label={`${text}: show only these`}
                  onClick={() => onFilter(conditionsOfRow(tab, value))}
                >
                  {text}
                </button>
              </th>
              <td title={formatNumber(visitors)}>{formatCompact(visitors)}</td>
              <td class={style.views} title={formatNumber(views)}>
                {formatCompact(views)}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
