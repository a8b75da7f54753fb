/** EXAMPLES: queries to begin with, for a page that has none yet. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { useEventNames } from '../../api/definitions.ts'
import { useRecentInsights } from '../../api/insights.ts'
import { formatAgo } from '../../parts/format.ts'
import {
  EXPLORE_KINDS,
  type ExploreKind,
  type ExploreQuery,
  queryOf,
  type SeriesNode,
} from './explore-query.ts'
import { insightKind } from './insight-kind.ts'
import style from './page.module.css'

type Example = {
  readonly text: string
  readonly about: string
  readonly kind: ExploreKind
  readonly change?: (query: ExploreQuery) => ExploreQuery
}

/** One line per query. */
const EXAMPLES: readonly Example[] = [
  {
    kind: 'TrendsQuery',
    text: 'How many people use it each day?',
    about: 'Unique persons, and the thirty days before',
    change: (query) => ({
      ...query,
      series: (query.series ?? []).map((node) => ({ ...node, math: 'dau' })),
      compareFilter: { compare: true },
    }),
  },
  {
    kind: 'TrendsQuery',
    text: 'Which browsers do they use?',
    about: 'Events by browser, as stacked areas',
    change: (query) => ({
      ...query,
      breakdownFilter: { breakdowns: [{ property: '$browser', type: 'event' }] },
      trendsFilter: { display: 'ActionsAreaGraph' },
    }),
  },
  { kind: 'FunnelsQuery', text: 'Where do they give up?', about: 'From one step to the next' },
  {
    kind: 'RetentionQuery',
    text: 'Do they come back?',
    about: 'Week by week after the first time',
  },
  { kind: 'PathsQuery', text: 'Where do they go?', about: 'Page by page through a visit' },
]

/** Draws the queries; their events are those that the project has. */
export function Examples({ onPick }: { readonly onPick: (query: ExploreQuery) => void }): VNode {
  const names = useEventNames('').data?.results.map(({ name }) => name) ?? []
  return (
    <section class={style.examples}>
      <header>
        <h2>What do you want to know?</h2>
        <p>Start with an example; everything in it can be changed.</p>
      </header>
      <ul>
        {EXAMPLES.map((example) => (
          <li key={example.text}>
            <button type="button" onClick={() => onPick(queryFrom(example, names))}>
              <small>{EXPLORE_KINDS.find(({ kind }) => kind === example.kind)?.text}</small>
              <b>{example.text}</b>
              <span>{example.about}</span>
            </button>
          </li>
        ))}
        <li>
          <button type="button" onClick={() => onPick(queryOf('TrendsQuery', null))}>
            <small>Trends</small>
            <b>Something else</b>
            <span>An empty query with one event</span>
          </button>
        </li>
      </ul>
      <Saved />
    </section>
  )
}

/** Links to recently saved insights; nothing without any. */
function Saved(): VNode | null {
  const insights = useRecentInsights().data ?? []
  if (insights.length === 0) return null
  return (
    <div class={style.saved}>
      <h2>Saved</h2>
      <ol>
        {insights.map(({ short_id, name, derived_name, query, last_modified_at }) => (
          <li key={short_id}>
            <Link href={`/insights/${short_id}`}>
              <b>{name || derived_name || 'Without a name'}</b>
              <small>{insightKind(query)}</small>
              <small>{formatAgo(last_modified_at)}</small>
            </Link>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** A page view where there are some; else the project's first own event. Funnels go on with events of the project's own. */
function queryFrom({ kind, change }: Example, names: readonly string[]): ExploreQuery {
  const own = names.filter((name) => !name.startsWith('$'))
  const first = names.includes('$pageview') ? '$pageview' : (own[0] ?? null)
  const steps = kind === 'FunnelsQuery' ? likelySteps(own).filter((name) => name !== first) : []
  const series = [first, ...steps].map((event): SeriesNode => ({ kind: 'EventsNode', event }))
  const query = queryOf(kind, { ...queryOf('TrendsQuery', null), series })
  return change?.(query) ?? query
}

const SIGN_UP = /sign.?up|signed.?up|regist|account.?created/i

/** Signing up first, if there is an event of such a name. */
function likelySteps(own: readonly string[]): readonly string[] {
  const ranked = own.toSorted(
    (one, other) => Number(SIGN_UP.test(other)) - Number(SIGN_UP.test(one)),
  )
  return ranked.slice(0, 2)
}
