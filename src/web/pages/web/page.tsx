/** Web analytics: figures, a graph, and where visitors come from; a click on a row filters everything. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../api/calls/ask.ts'
import { useHasEvents, useLatestEvent } from '../../api/start.ts'
import type { ClickedNumber } from '../../parts/answer/clicked-number.ts'
import { WhoDialog } from '../../parts/answer/who-dialog.tsx'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Toggle } from '../../parts/fields/choice.tsx'
import { DateRange, useDateRange } from '../../parts/fields/date-range.tsx'
import type { PropertyCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters, useFilters } from '../../parts/filters/property-filters.tsx'
import { formatNumber } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { BreakdownCard } from './breakdown-card.tsx'
import { BREAKDOWNS } from './breakdowns.ts'
import { LiveCount } from './live-count.tsx'
import { MetricGraph } from './metric-graph.tsx'
import { metricOf, sessionlessQuery } from './metrics.ts'
import { Overview } from './overview.tsx'
import style from './web.module.css'
import { type WebSettings, webMembers } from './web-settings.ts'

const EVENTS = ['$pageview', '$screen']

/** The page; before the first event it says how to send one. */
export function WebPage(): VNode {
  const { ingested_event } = useProject()
  return ingested_event ? <Dashboard /> : <NothingYet />
}

function Dashboard(): VNode {
  const [range, setRange] = useDateRange()
  const [filters, setFilters] = useFilters()
  const [compare, setCompare] = useParam('compare', 'on')
  const [tests, setTests] = useParam('tests', 'out')
  const settings: WebSettings = {
    range,
    filters,
    has_comparison: compare === 'on',
    hides_tests: tests === 'out',
  }
  const addFilters = (added: readonly PropertyCondition[]): void => {
    const keys = new Set(added.map(({ type, key }) => `${type} ${key}`))
    const others = filters.filter(({ type, key }) => !keys.has(`${type} ${key}`))
    setFilters([...others, ...added])
  }
  return (
    <>
      <PageHead title="Web" aside={<LiveCount />}>
        <Toggle
          label="Compare"
          is_on={settings.has_comparison}
          onChange={(is_on) => setCompare(is_on ? 'on' : 'off')}
        />
        <DateRange value={range} onChange={setRange} />
      </PageHead>
      <div class={style.filters}>
        <PropertyFilters filters={filters} onChange={setFilters} event_names={EVENTS} has_key />
        <Toggle
          label="Filter out test accounts"
          is_on={settings.hides_tests}
          onChange={(is_on) => setTests(is_on ? 'out' : 'in')}
        />
      </div>
      <Answers settings={settings} onFilter={addFilters} onShowTests={() => setTests('in')} />
    </>
  )
}

type AnswersProps = {
  readonly settings: WebSettings
  readonly onFilter: (conditions: readonly PropertyCondition[]) => void
  readonly onShowTests: () => void
}

/** The figures, the graph of the chosen one, the tables, and the dialog with the actors of a clicked number. */
function Answers({ settings, onFilter, onShowTests }: AnswersProps): VNode {
  const [metric_key, setMetric] = useParam('metric', 'visitors')
  const [clicked, setClicked] = useState<ClickedNumber | null>(null)
  const metric = metricOf(metric_key)
  const overview = useAnswer({
    kind: 'WebOverviewQuery',
    ...webMembers(settings),
  })
  const total = overview.data?.results.find(({ key }) => key === metric.key)?.value ?? null
  const filterAndClose = (added: readonly PropertyCondition[]): void => {
    setClicked(null)
    onFilter(added)
  }
  const is_empty =
    !overview.isPlaceholderData && overview.data?.results.every(({ value }) => !value) === true
  return (
    <>
      {is_empty && <NoVisits settings={settings} onShowTests={onShowTests} />}
      <section class={style.main} aria-label="Figures">
        <Loaded of={overview} skeleton={<SkeletonBlock height="var(--figures)" />}>
          {(answer) => (
            <Overview answer={answer} chosen={metric} onChoose={({ key }) => setMetric(key)} />
          )}
        </Loaded>
        <MetricGraph metric={metric} settings={settings} total={total} onPick={setClicked} />
      </section>
      <div class={style.cards}>
        {BREAKDOWNS.map((card) => (
          <BreakdownCard
            key={card.title}
            card={card}
            settings={settings}
            onFilter={onFilter}
            onPick={setClicked}
          />
        ))}
      </div>
      {clicked !== null && (
        <WhoDialog clicked={clicked} onFilter={filterAndClose} onClose={() => setClicked(null)} />
      )}
    </>
  )
}

type NoVisitsProps = { readonly settings: WebSettings; readonly onShowTests: () => void }

/** The note when all figures are zero: the only visits are of test accounts, which are left out, or have no session. */
function NoVisits({ settings, onShowTests }: NoVisitsProps): VNode | null {
  const { hides_tests } = settings
  const sessionless = useAnswer(sessionlessQuery(settings))
  if (sessionless.isPending) return null
  const count = sessionless.data?.results[0]?.aggregated_value ?? 0
  if (count > 0) return <NoSessions count={count} />
  return (
    <div class={style.note} role="status">
      <p>
        <b>No page views here.</b>{' '}
        {hides_tests
          ? 'Visits from localhost and from your team count as tests and are left out.'
          : 'Try a longer range or fewer filters.'}
      </p>
      {hides_tests && <Button onClick={onShowTests}>Show test visits</Button>}
      <ButtonLink href="/events">All events</ButtonLink>
    </div>
  )
}

function NoSessions({ count }: { readonly count: number }): VNode {
  return (
    <div class={style.note} role="status">
      <p>
        <b>No sessions here.</b> Page views without <code>$session_id</code>: {formatNumber(count)}.
        This page counts by session and leaves them out. SDKs in browsers and apps send it with each
        event.
      </p>
      <ButtonLink href="/events">All events</ButtonLink>
    </div>
  )
}

function NothingYet(): VNode {
  useHasEvents(useLatestEvent())
  return (
    <>
      <PageHead title="Web" />
      <div class={style.main}>
        <EmptyNote title="No events yet" icon="start">
          <p>
            Put the snippet on your site, or fill the project with demo data: numbers, graph and map
            then appear here.
          </p>
          <ButtonLink href="/start" look="main">
            Get started
          </ButtonLink>
        </EmptyNote>
      </div>
    </>
  )
}
