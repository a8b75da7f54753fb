/** The answer of the query: its chart, its table, its menu. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { AnswerOf } from '../../../api/calls/ask.ts'
import { ApiError } from '../../../api/calls/call.ts'
import { useLongAnswer } from '../../../api/calls/long-answer.ts'
import { type ChartAnnotation, useAnnotations } from '../../../api/insights.ts'
import { lazyPage } from '../../../lazy-page.tsx'
import { AnswerAge } from '../../../parts/answer/answer-age.tsx'
import { AnswerMenu } from '../../../parts/answer/answer-menu.tsx'
import type { ClickedNumber } from '../../../parts/answer/clicked-number.ts'
import { Button } from '../../../parts/button.tsx'
import { Choice, Toggle } from '../../../parts/fields/choice.tsx'
import { DATE_PRESETS, DateRange } from '../../../parts/fields/date-range.tsx'
import { EmptyNote } from '../../../parts/notes/empty-note.tsx'
import { Loaded } from '../../../parts/notes/loaded.tsx'
import { Progress } from '../../../parts/notes/progress.tsx'
import { SkeletonBlock } from '../../../parts/notes/skeleton.tsx'
import type { MenuItem } from '../../../parts/overlays/menu.tsx'
import { useKeys } from '../../../state/keys.ts'
import { useMayEdit, useProject } from '../../../state/project.tsx'
import { useParam } from '../../../state/url.ts'
import { BreakdownTotal } from '../editor/breakdown-total.tsx'
import type { EditorProps } from '../editor/kind-settings.tsx'
import { Select } from '../editor/select.tsx'
import { type ExploreQuery, rangeOf } from '../explore-query.ts'
import { AnswerTableView } from './answer-table.tsx'
import style from './result.module.css'
import { DISPLAYS, displayOf } from './trends-view.tsx'
import { KIND_VIEWS, usePreloadedView } from './views.ts'

/** Few readers write notes: the dialog is loaded when it is opened. */
const NoteDialog = lazyPage(
  () => import('../note-dialog.tsx').then(({ NoteDialog: Dialog }) => Dialog),
  { is_dialog: true },
)

/** Loaded at the first click on a number: a page's first load has a limit of bytes. */
const WhoDialog = lazyPage(
  () => import('../../../parts/answer/who-dialog.tsx').then(({ WhoDialog: Dialog }) => Dialog),
  { is_dialog: true },
)

const LOOKS = [
  { value: 'chart', text: 'Chart' },
  { value: 'table', text: 'Table' },
] as const

/** Draws the answer under its toolbar, and the dialogs that it opens. */
export function Result({ query, onChange }: EditorProps): VNode {
  const [clicked, setClicked] = useState<ClickedNumber | null>(null)
  const [note, setNote] = useState<ChartAnnotation | 'new' | null>(null)
  return (
    <section class={style.result} aria-label="Answer">
      <Toolbar query={query} onChange={onChange} />
      <AnswerCard
        // The answer to another kind of query is not shown while its own is loading.
        key={query.kind}
        query={query}
        onPick={setClicked}
        onNote={setNote}
      />
      {clicked !== null && (
        <WhoDialog
          clicked={clicked}
          onFilter={(filters) => {
            setClicked(null)
            onChange({ ...query, properties: [...(query.properties ?? []), ...filters] })
          }}
          onClose={() => setClicked(null)}
        />
      )}
      {note !== null && (
        <NoteDialog annotation={note === 'new' ? null : note} onClose={() => setNote(null)} />
      )}
    </section>
  )
}

type AnswerCardProps = {
  readonly query: ExploreQuery
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onNote: (note: ChartAnnotation | 'new') => void
}

function AnswerCard({ query, onPick, onNote }: AnswerCardProps): VNode {
  const [look, setLook] = useParam('show', 'chart')
  const picture = useRef<HTMLDivElement>(null)
  usePreloadedView(query.kind)
  const { answer, progress, cancel } = useLongAnswer(query)
  const { data, isPlaceholderData } = answer
  const is_table = look === 'table'
  const { tableOf } = KIND_VIEWS[query.kind]
  return (
    <div class={style.card}>
      <div class={style.bar}>
        <Choice
          label="Shown as"
          options={LOOKS}
          value={is_table ? 'table' : 'chart'}
          onChange={setLook}
        />
        <span class={style.age}>
          <AnswerAge query={query} answer={isPlaceholderData ? undefined : data} />
        </span>
        <AnswerMenu
          name="Answer"
          query={query}
          hogql={isPlaceholderData ? null : data?.hogql}
          tableOf={
            data === undefined || isPlaceholderData ? undefined : () => tableOf(query, data.results)
          }
          picture={picture}
          has_button
          items={useNoteItems(() => onNote('new'))}
        />
      </div>
      {progress !== null && <Progress progress={progress} onCancel={cancel} />}
      {isCancelled(answer.error) && !answer.isFetching ? (
        <EmptyNote title="Cancelled" icon="close">
          <p>The server has stopped running it.</p>
          <Button onClick={() => void answer.refetch()}>Ask again</Button>
        </EmptyNote>
      ) : (
        <Loaded of={answer} skeleton={<SkeletonBlock height={340} />}>
          {(shown) => (
            <div ref={picture}>
              <Answer
                query={isPlaceholderData ? queryOfAnswer(shown, query) : query}
                answer={shown}
                is_table={is_table}
                onPick={onPick}
                onMark={onNote}
              />
            </div>
          )}
        </Loaded>
      )}
    </div>
  )
}

function useNoteItems(onSelect: () => void): readonly MenuItem[] {
  return useMayEdit('annotation') ? [{ text: 'Add a note', icon: 'note', onSelect }] : []
}

function isCancelled(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'query_cancelled'
}

/** An answer repeats its query: that of an older answer, which is still shown, is not the current one. */
function queryOfAnswer(answer: AnswerOf, fallback: ExploreQuery): ExploreQuery {
  const { query } = answer as { readonly query?: ExploreQuery }
  return query ?? fallback
}

type AnswerProps = {
  readonly query: ExploreQuery
  readonly answer: AnswerOf
  readonly is_table: boolean
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onMark: (annotation: ChartAnnotation) => void
}

function Answer({ query, answer, is_table, ...rest }: AnswerProps): VNode {
  const { timezone } = useProject()
  const annotations = useAnnotations().data ?? NONE
  const { View, tableOf, isEmpty } = KIND_VIEWS[query.kind]
  const { results } = answer
  if (isEmpty(results)) {
    return (
      <EmptyNote title="No data matches this query" icon="explore">
        <p>Try a longer range, another event, or fewer filters.</p>
      </EmptyNote>
    )
  }
  return (
    <>
      {is_table ? (
        <AnswerTableView table={tableOf(query, results)} onPick={rest.onPick} />
      ) : (
        <View
          query={query}
          results={results}
          timezone={timezone}
          annotations={annotations}
          {...rest}
        />
      )}
      {answer.hasMore === true && <BreakdownTotal query={query} />}
    </>
  )
}

const NONE: readonly ChartAnnotation[] = []

const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const

/** Keys of the toolbar: `c` compares, `d 7` is the last seven days. */
function useToolbarKeys({ query, onChange }: EditorProps): void {
  const { compareFilter } = query
  const compare = {
    keys: 'c',
    text: 'Compare to the previous period',
    group: 'Explore',
    run: () => {
      if (hasComparison(query))
        onChange({ ...query, compareFilter: { compare: !compareFilter?.compare } })
    },
  }
  const ranges = DATE_PRESETS.flatMap(({ key, text, date_from, date_to }) =>
    key === undefined
      ? []
      : [
          {
            keys: `d ${key}`,
            text,
            group: 'Explore',
            run: () => onChange({ ...query, dateRange: { date_from, date_to } }),
          },
        ],
  )
  useKeys([compare, ...ranges])
}

const hasComparison = ({ kind }: ExploreQuery): boolean =>
  kind === 'TrendsQuery' || kind === 'StickinessQuery'

/** The settings above an answer: its range, and for charts over time the interval and the previous period. */
function Toolbar({ query, onChange }: EditorProps): VNode {
  const { kind, interval = 'day', compareFilter, trendsFilter } = query
  useToolbarKeys({ query, onChange })
  const is_trends = kind === 'TrendsQuery'
  const look = is_trends ? displayOf(query).look : 'line'
  const is_over_time = look === 'line' || look === 'area' || look === 'bar'
  const has_interval =
    is_over_time &&
    (is_trends || kind === 'LifecycleQuery' || kind === 'StickinessQuery' || isOverTime(query))
  return (
    <div class={style.toolbar} role="group" aria-label="Time and display">
      <DateRange
        value={rangeOf(query)}
        onChange={(range) => onChange({ ...query, dateRange: range })}
      />
      {kind === 'RetentionQuery' && (
        <span class={style.hint}>Periods are counted back from its end.</span>
      )}
      {has_interval && (
        <Select
          label="Interval"
          value={interval}
          options={INTERVALS.map((value) => ({ value, text: `by ${value}` }))}
          onChange={(value) => {
            const next = INTERVALS.find((one) => one === value)
            if (next !== undefined) onChange({ ...query, interval: next })
          }}
        />
      )}
      {hasComparison(query) && (
        <Toggle
          label="Compare"
          is_on={compareFilter?.compare === true}
          onChange={(compare) => onChange({ ...query, compareFilter: { compare } })}
        />
      )}
      {is_trends && (
        <Select
          label="Display"
          value={displayOf(query).value}
          options={DISPLAYS}
          onChange={(display) => onChange({ ...query, trendsFilter: { ...trendsFilter, display } })}
        />
      )}
    </div>
  )
}

const isOverTime = ({ funnelsFilter }: ExploreQuery): boolean =>
  funnelsFilter?.['funnelVizType'] === 'trends'
