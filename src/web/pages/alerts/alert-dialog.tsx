/** The dialog of an alert: its insight, its rule, the address of its messages. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { TrendsSeriesAnswer } from '../../../contract/insights/answers.ts'
import { changeAlert, type ShownAlert } from '../../api/alerts.ts'
import { useTrends } from '../../api/boards.ts'
import { useAnswer } from '../../api/calls/ask.ts'
import type { StoredInsight } from '../../api/insights.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Toggle } from '../../parts/fields/choice.tsx'
import field from '../../parts/fields/field.module.css'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { Picker } from '../../parts/fields/picker.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { useProject } from '../../state/project.tsx'
import { insightName } from '../boards/tile.tsx'
import { type ExploreQuery, readQuery } from '../explore/explore-query.ts'
import { lineTitle } from '../explore/views/trends-view.tsx'
import { type AlertInput, bodyOf, changesOf, inputOf } from './alert-input.ts'
import { RULES, type RuleChoice } from './rule-text.ts'

type AlertDialogProps = {
  /** Null for a new one. */
  readonly alert: ShownAlert | null
  /** The insight of a new one. */
  readonly insight_id: number | null
  readonly onClose: () => void
}

const FIELDS = ['insight', 'name', 'webhook_url', 'threshold__configuration__bounds']

/** As many lines as an alert can choose among. */
const LINES_MAX = 1001

const INTERVALS = [
  { value: 'hourly', text: 'Every hour' },
  { value: 'daily', text: 'Every day' },
  { value: 'weekly', text: 'Every week' },
  { value: 'monthly', text: 'Every month' },
] as const

/** Draws the form. */
export function AlertDialog({ alert, insight_id, onClose }: AlertDialogProps): VNode {
  return (
    <Dialog title={alert === null ? 'New alert' : 'Edit the alert'} onClose={onClose}>
      <Loaded of={useTrends(alert?.insight.id ?? insight_id)}>
        {(insights) => {
          const trends = trendsOf(insights)
          const chosen = alert?.insight.id ?? insight_id ?? Number(trends[0]?.value)
          const trend = trends.find(({ value }) => value === String(chosen)) ?? null
          return trends.length === 0 ? (
            <EmptyNote title="No saved trends yet" icon="explore">
              <p>An alert watches one series of a saved trend.</p>
              <ButtonLink href="/explore" look="main">
                Create one in Explore
              </ButtonLink>
            </EmptyNote>
          ) : (
            <AlertForm alert={alert} chosen={chosen} saved_trend={trend} onClose={onClose} />
          )
        }}
      </Loaded>
    </Dialog>
  )
}

/** A saved trend, as an option of the list of them. */
type Trend = { readonly value: string; readonly text: string; readonly query: ExploreQuery }

const trendsOf = (insights: readonly StoredInsight[]): readonly Trend[] =>
  insights.flatMap((insight) => {
    const query = readQuery(insight.query)
    return query?.kind === 'TrendsQuery'
      ? [{ value: String(insight.id), text: insightName(insight), query }]
      : []
  })

type AlertFormProps = {
  readonly alert: ShownAlert | null
  /** The id of the insight when the form opens. */
  readonly chosen: number
  /** That insight; null when it is no trend. */
  readonly saved_trend: Trend | null
  readonly onClose: () => void
}

function AlertForm({ alert, chosen, saved_trend, onClose }: AlertFormProps): VNode {
  const { id } = useProject()
  const [trend, setTrend] = useState(saved_trend)
  const [input, setInput] = useState(() => inputOf(alert, chosen))
  const change = (changes: Partial<AlertInput>): void => setInput({ ...input, ...changes })
  const submit = async (): Promise<void> => {
    await (alert === null
      ? changeAlert(id, 'POST', ['', bodyOf(input)])
      : changeAlert(id, 'PATCH', [`${alert.id}/`, changesOf(alert, chosen, input)]))
    onClose()
  }
  return (
    <Form action={alert === null ? 'Create alert' : 'Save'} fields={FIELDS} onSubmit={submit}>
      {(error) => (
        <>
          <TrendField
            trend={trend}
            onChange={(next) => {
              setTrend(next)
              change({ insight: next.value, line: '1' })
            }}
            error={fieldError(error, 'insight')}
          />
          <LineField
            query={trend?.query ?? null}
            line={input.line}
            onChange={(line) => change({ line })}
          />
          <RuleFields input={input} change={change} error={error} />
          <SelectField
            label="Check"
            value={input.calculation_interval}
            options={INTERVALS}
            onChange={(value) =>
              change({ calculation_interval: value as AlertInput['calculation_interval'] })
            }
          />
          <TextField
            label="Name"
            maxLength={255}
            value={input.name}
            onInput={(name) => change({ name })}
            error={fieldError(error, 'name')}
          />
          <TextField
            label="Webhook"
            type="url"
            placeholder="https://"
            value={input.webhook_url}
            onInput={(webhook_url) => change({ webhook_url })}
            hint="Receives a JSON message when the state changes; chat services show its text."
            error={fieldError(error, 'webhook_url')}
          />
        </>
      )}
    </Form>
  )
}

type TrendFieldProps = {
  readonly trend: Trend | null
  readonly onChange: (trend: Trend) => void
  readonly error: string | null
}

/** The watched trend, searched by its name: there may be thousands. */
function TrendField({ trend, onChange, error }: TrendFieldProps): VNode {
  const [search, setSearch] = useState('')
  const { data = [], isFetching } = useTrends(null, search)
  const trends = trendsOf(data)
  return (
    <div class={field.field}>
      <span class={field.label}>Trend</span>
      <Picker
        label="Trend"
        options={trends}
        value={trend?.value ?? null}
        {...(trend && { text: trend.text })}
        placeholder="Choose a trend"
        icon="explore"
        onSearch={setSearch}
        is_loading={isFetching}
        onChange={(value) => {
          const next = trends.find((one) => one.value === value)
          if (next !== undefined) onChange(next)
        }}
      />
      {error !== null && <div class={field.error}>{error}</div>}
    </div>
  )
}

type LineFieldProps = {
  /** Null for an insight that is not among the saved trends. */
  readonly query: ExploreQuery | null
  /** Its number, from 1. */
  readonly line: string
  readonly onChange: (line: string) => void
}

/** The watched line: by its name, or by its number where the trend has no answer. */
function LineField({ query, line, onChange }: LineFieldProps): VNode {
  const { data, isPending, isPlaceholderData } = useAnswer(query)
  if (query === null || (data === undefined && !isPending)) {
    return (
      <TextField
        label="Series of the trend, from 1"
        type="number"
        min={1}
        value={line}
        onInput={onChange}
      />
    )
  }
  // Meanwhile the answer is that of the trend before.
  const results = (isPlaceholderData ? [] : (data?.results ?? [])) as readonly TrendsSeriesAnswer[]
  const named = results
    .slice(0, LINES_MAX)
    .map((one, at) => ({ value: String(at + 1), text: lineTitle(query, one) }))
  // While there is no answer, and when the trend has fewer lines than it had.
  const is_unnamed = named.every(({ value }) => value !== line)
  const options = is_unnamed ? [...named, { value: line, text: `Line ${line}` }] : named
  return <SelectField label="Line" value={line} options={options} onChange={onChange} />
}

type RuleFieldsProps = {
  readonly input: AlertInput
  readonly change: (changes: Partial<AlertInput>) => void
  readonly error: unknown
}

/** The fields of the rule: the condition, its bound. */
function RuleFields({ input, change, error }: RuleFieldsProps): VNode {
  const is_change = input.rule === 'rises' || input.rule === 'falls'
  return (
    <>
      <SelectField
        label="Alert when it"
        value={input.rule}
        options={RULES.map(({ name, text }) => ({ value: name, text }))}
        onChange={(rule) => change({ rule: rule as RuleChoice['name'] })}
      />
      <TextField
        label={is_change && input.is_share ? 'Percent' : 'Value'}
        type="number"
        step="any"
        required
        value={input.value}
        onInput={(value) => change({ value })}
        error={fieldError(error, 'threshold__configuration__bounds')}
      />
      {is_change && (
        <Toggle
          label="As a percentage of the previous interval"
          is_on={input.is_share}
          onChange={(is_share) => change({ is_share })}
        />
      )}
      <Toggle
        label="Include the current, incomplete interval"
        is_on={input.is_ongoing}
        onChange={(is_ongoing) => change({ is_ongoing })}
      />
    </>
  )
}
