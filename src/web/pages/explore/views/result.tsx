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
import { type ExploreQuestion, rangeOf } from '../question.ts'
import { AnswerTableView } from './answer-table.tsx'
import style from './result.module.css'
import { DISPLAYS, displayOf } from './trends-view.tsx'
import { KIND_VIEWS } from './views.ts'

/** Few readers write notes: the dialog is loaded when it is opened. */
const NoteDialog = lazyPage(
  () => import('../note-dialog.tsx').then(({ NoteDialog: Dialog }) => Dialog),
  { is_dialog: true },
)

/** Loaded at the first click on a number: the page has little room. */
const WhoDialog = lazyPage(
  () => import('../../../parts/answer/who-dialog.tsx').then(({ WhoDialog: Dialog }) => Dialog),
  { is_dialog: true },
)

const LOOKS = [
  { value: 'chart', text: 'Chart' },
  { value: 'table', text: 'Table' },
] as const

/** Draws the answer under its toolbar, and the dialogs that it opens. */
export function Result({ question, onChange }: EditorProps): VNode {
  const [clicked, setClicked] = useState<ClickedNumber | null>(null)
  const [note, setNote] = useState<ChartAnnotation | 'new' | null>(null)
  return (
    <section class={style.result} aria-label="Answer">
      <Toolbar question={question} onChange={onChange} />
      <AnswerCard
        // The answer to another kind of question is not shown while its own is loading.
        key={question.kind}
        question={question}
        onPick={setClicked}
        onNote={setNote}
      />
      {clicked !== null && (
        <WhoDialog
          clicked={clicked}
          onFilter={(filters) => {
            setClicked(null)
            onChange({ ...question, properties: [...(question.properties ?? []), ...filters] })
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
  readonly question: ExploreQuestion
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onNote: (note: ChartAnnotation | 'new') => void
}

function AnswerCard({ question, onPick, onNote }: AnswerCardProps): VNode {
  const [look, setLook] = useParam('show', 'chart')
  const picture = useRef<HTMLDivElement>(null)
  const { answer, progress, cancel } = useLongAnswer(question)
  const { data, isPlaceholderData } = answer
  const is_table = look === 'table'
  const { tableOf } = KIND_VIEWS[question.kind]
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
          <AnswerAge query={question} answer={isPlaceholderData ? undefined : data} />
        </span>
        <AnswerMenu
          name="Answer"
          query={question}
          hogql={isPlaceholderData ? null : data?.hogql}
          tableOf={
            data === undefined || isPlaceholderData
              ? undefined
              : () => tableOf(question, data.results)
          }
          picture={picture}
          has_button
          items={useNoteItems(() => onNote('new'))}
        />
      </div>
      {progress !== null && <Progress progress={progress} onCancel={cancel} />}
      {isCancelled(answer.error) && !answer.isFetching ? (
        <EmptyNote title="Cancelled" icon="close">
          <p>The server has stopped working on it.</p>
          <Button onClick={() => void answer.refetch()}>Ask again</Button>
        </EmptyNote>
      ) : (
        <Loaded of={answer} skeleton={<SkeletonBlock height={340} />}>
          {(shown) => (
            <div ref={picture}>
              <Answer
                question={isPlaceholderData ? questionOfAnswer(shown, question) : question}
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

/** An answer repeats its question: that of an older answer, which is still shown, is not the current one. */
function questionOfAnswer(answer: AnswerOf, fallback: ExploreQuestion): ExploreQuestion {
  const { query } = answer as { readonly query?: ExploreQuestion }
  return query ?? fallback
}

type AnswerProps = {
  readonly question: ExploreQuestion
  readonly answer: AnswerOf
  readonly is_table: boolean
  readonly onPick: (clicked: ClickedNumber) => void
  readonly onMark: (annotation: ChartAnnotation) => void
}

function Answer({ question, answer, is_table, ...rest }: AnswerProps): VNode {
  const { timezone } = useProject()
  const annotations = useAnnotations().data ?? NONE
  const { View, tableOf, isEmpty } = KIND_VIEWS[question.kind]
  const { results } = answer
  if (isEmpty(results)) {
    return (
      <EmptyNote title="Nothing matches this question" icon="explore">
        <p>Take a longer range, another event, or fewer filters.</p>
      </EmptyNote>
    )
  }
  return (
    <>
      {is_table ? (
        <AnswerTableView table={tableOf(question, results)} onPick={rest.onPick} />
      ) : (
        <View
          question={question}
          results={results}
          timezone={timezone}
          annotations={annotations}
          {...rest}
        />
      )}
      {answer.hasMore === true && <BreakdownTotal question={question} />}
    </>
  )
}

const NONE: readonly ChartAnnotation[] = []

const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const

/** Keys of the toolbar: `c` compares, `d 7` is the last seven days. */
function useToolbarKeys({ question, onChange }: EditorProps): void {
  const { compareFilter } = question
  const compare = {
    keys: 'c',
    text: 'Compare with the period before',
    group: 'Explore',
    run: () => {
      if (hasComparison(question))
        onChange({ ...question, compareFilter: { compare: !compareFilter?.compare } })
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
            run: () => onChange({ ...question, dateRange: { date_from, date_to } }),
          },
        ],
  )
  useKeys([compare, ...ranges])
}

const hasComparison = ({ kind }: ExploreQuestion): boolean =>
  kind === 'TrendsQuery' || kind === 'StickinessQuery'

/** The settings above an answer: its range, and for charts over time the interval and the previous period. */
function Toolbar({ question, onChange }: EditorProps): VNode {
  const { kind, interval = 'day', compareFilter, trendsFilter } = question
  useToolbarKeys({ question, onChange })
  const is_trends = kind === 'TrendsQuery'
  const look = is_trends ? displayOf(question).look : 'line'
  const is_over_time = look === 'line' || look === 'area' || look === 'bar'
  const has_interval =
    is_over_time &&
    (is_trends || kind === 'LifecycleQuery' || kind === 'StickinessQuery' || isOverTime(question))
  return (
    <div class={style.toolbar} role="group" aria-label="Time and display">
      <DateRange
        value={rangeOf(question)}
        onChange={(range) => onChange({ ...question, dateRange: range })}
      />
      {has_interval && (
        <Select
          label="Interval"
          value={interval}
          options={INTERVALS.map((value) => ({ value, text: `by ${value}` }))}
          onChange={(value) => {
            const next = INTERVALS.find((one) => one === value)
            if (next !== undefined) onChange({ ...question, interval: next })
          }}
        />
      )}
      {hasComparison(question) && (
        <Toggle
          label="Compare"
          is_on={compareFilter?.compare === true}
          onChange={(compare) => onChange({ ...question, compareFilter: { compare } })}
        />
      )}
      {is_trends && (
        <Select
          label="Display"
          value={displayOf(question).value}
          options={DISPLAYS}
          onChange={(display) =>
            onChange({ ...question, trendsFilter: { ...trendsFilter, display } })
          }
        />
      )}
    </div>
  )
}

const isOverTime = ({ funnelsFilter }: ExploreQuestion): boolean =>
  funnelsFilter?.['funnelVizType'] === 'trends'
