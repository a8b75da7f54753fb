/** A card with tabs of tables: pages, sources, places, devices. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { WebBreakdownAnswer, WebStatsRowAnswer } from '../../../contract/insights/answers.ts'
import { useAnswer } from '../../api/calls/ask.ts'
import { lazyPage } from '../../lazy-page.tsx'
import { AnswerMenu } from '../../parts/answer/answer-menu.tsx'
import type { AnswerTable } from '../../parts/answer/answer-table.ts'
import type { ClickedNumber } from '../../parts/answer/clicked-number.ts'
import { Button } from '../../parts/button.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { formatCompact, formatNumber } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { now } from '../../state/clock.ts'
import { useParam } from '../../state/url.ts'
import {
  breakdownText,
  conditionsOfRow,
  tabName,
  type WebBreakdownCard,
  type WebBreakdownTab,
} from './breakdowns.ts'
import { visitorsSource } from './metrics.ts'
import { intervalOf } from './range-interval.ts'
import style from './web.module.css'
import { type WebSettings, webMembers } from './web-settings.ts'

/** A row as this page asks for it; without a comparison the second of each pair is null. */
type WebRow = {
  readonly value: WebBreakdownAnswer
  readonly visitors: number
  readonly views: number
}

function readRow([value, visitors, views]: WebStatsRowAnswer): WebRow {
  return { value: value as WebBreakdownAnswer, visitors: countOf(visitors), views: countOf(views) }
}

const countOf = (cell: WebStatsRowAnswer[number] | undefined): number =>
  Array.isArray(cell) && typeof cell[0] === 'number' ? cell[0] : 0

const ROWS_AT_FIRST = 9
const ROWS_MAX = 100
/** As many as there are. */
const COUNTRIES_MAX = 300

type BreakdownCardProps = {
  readonly card: WebBreakdownCard
  readonly settings: WebSettings
  readonly onFilter: (conditions: readonly PropertyCondition[]) => void
  readonly onPick: (clicked: ClickedNumber) => void
}

/** Draws the card; its tab is in the address. */
export function BreakdownCard({ card, settings, ...picks }: BreakdownCardProps): VNode {
  const [first] = card.tabs
  if (first === undefined) throw new Error(`the card ${card.title} has no tabs`)
  const [name, setName] = useParam(card.title.toLowerCase(), tabName(first))
  const tab = card.tabs.find((one) => tabName(one) === name) ?? first
  const [is_long, setLong] = useState(false)
  const query = {
    kind: 'WebStatsTableQuery' as const,
    breakdownBy: tab.by,
    limit: tab.look === 'map' ? COUNTRIES_MAX : is_long ? ROWS_MAX : ROWS_AT_FIRST,
    ...webMembers({ ...settings, has_comparison: false }),
  }
  const answer = useAnswer(query)
  const picture = useRef<HTMLDivElement>(null)
  const shown = answer.isPlaceholderData ? undefined : answer.data
  const choose = (value: string): void => {
    setLong(false)
    setName(value)
  }
  return (
    <section class={style.card} aria-label={card.title}>
      <header>
        <h2>{card.title}</h2>
        <Tabs tabs={card.tabs} chosen={tab} onChoose={choose} />
        <AnswerMenu
          name={card.title}
          query={query}
          hogql={shown?.hogql}
          tableOf={shown && (() => rowsTable(tab, shown.results.map(readRow)))}
          picture={picture}
        />
      </header>
      <Loaded
        of={answer}
        skeleton={<SkeletonBlock height={`calc(${ROWS_AT_FIRST + 1} * var(--row))`} />}
        isEmpty={({ results }) => results.length === 0}
        empty={<EmptyNote title="No data in this range" />}
      >
        {(found) => (
          <div ref={picture}>
            {tab.look === 'map' ? (
              <PlacesMap tab={tab} rows={found.results.map(readRow)} onFilter={picks.onFilter} />
            ) : (
              <Rows tab={tab} rows={found.results.map(readRow)} settings={settings} {...picks} />
            )}
          </div>
        )}
      </Loaded>
      {answer.data?.hasMore === true && !is_long && tab.look !== 'map' && (
        <footer>
          <Button look="quiet" onClick={() => setLong(true)}>
            Show more
          </Button>
        </footer>
      )}
    </section>
  )
}

type TabsProps = {
  readonly tabs: readonly WebBreakdownTab[]
  readonly chosen: WebBreakdownTab
  readonly onChoose: (name: string) => void
}

function Tabs({ tabs, chosen, onChoose }: TabsProps): VNode {
  return (
    <div class={style.tabs}>
      {tabs.map((tab) => (
        <button
          key={tab.title}
          type="button"
          aria-pressed={tab === chosen}
          onClick={() => onChoose(tabName(tab))}
        >
          {tab.title}
        </button>
      ))}
    </div>
  )
}

/** Loaded when the card is drawn: its outlines weigh more than the rest of the page. */
const WorldMap = lazyPage(() =>
  import('../../parts/charts/map/world-map.tsx').then((module) => module.WorldMap),
)

type PlacesMapProps = Pick<RowsProps, 'tab' | 'rows' | 'onFilter'>

function PlacesMap({ tab, rows, onFilter }: PlacesMapProps): VNode {
  const countries = rows.flatMap(({ value: code, visitors }) =>
    typeof code === 'string' && code !== ''
      ? [{ code, name: breakdownText(tab, code), value: visitors }]
      : [],
  )
  return (
    <WorldMap
      label="Visitors by country"
      unit="visitors"
      countries={countries}
      onPick={({ code }) => onFilter(conditionsOfRow(tab, code))}
    />
  )
}

function rowsTable(tab: WebBreakdownTab, rows: readonly WebRow[]): AnswerTable {
  return {
    columns: [tab.title, 'Visitors', 'Views'],
    rows: rows.map(({ value, visitors, views }) => [
      { value: breakdownText(tab, value) },
      { value: visitors },
      { value: views },
    ]),
  }
}

type RowsProps = Omit<BreakdownCardProps, 'card'> & {
  readonly tab: WebBreakdownTab
  readonly rows: readonly WebRow[]
}

function Rows({ tab, rows, settings, onFilter, onPick }: RowsProps): VNode {
  const most = Math.max(1, ...rows.map(({ visitors }) => visitors))
  const pick = (value: WebBreakdownAnswer, title: string, count: number): void => {
    const filters = conditionsOfRow(tab, value)
    const narrowed = { ...settings, filters: [...settings.filters, ...filters] }
    onPick({
      title: `${breakdownText(tab, value)} · ${title}`,
      value: count,
      filters,
      source: visitorsSource(
        { ...narrowed, has_comparison: false },
        intervalOf(settings.range, now()),
      ),
    })
  }
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
        {rows.map(({ value, visitors, views }) => {
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
              <td>
                <Count value={visitors} onPick={() => pick(value, 'Visitors', visitors)} />
              </td>
              <td class={style.views}>
                <Count value={views} onPick={() => pick(value, 'Views', views)} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** A number whose click lists its actors. */
function Count({ value, onPick }: { readonly value: number; readonly onPick: () => void }): VNode {
  return (
    <button type="button" class={style.count} title={formatNumber(value)} onClick={onPick}>
      {formatCompact(value)}
    </button>
  )
}
