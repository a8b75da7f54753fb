/** The dialog of an alert: its insight, its rule, the address of its messages. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { changeAlert, type ShownAlert } from '../../api/alerts.ts'
import { useSavedInsights } from '../../api/boards.ts'
import { Toggle } from '../../parts/fields/choice.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { useProject } from '../../state/project.tsx'
import { insightName } from '../boards/tile.tsx'
import { readQuestion } from '../explore/question.ts'
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
      <Loaded of={useSavedInsights()}>
        {({ results }) => {
          const trends = results.flatMap((insight) =>
            readQuestion(insight.query)?.kind === 'TrendsQuery'
              ? { value: String(insight.id), text: insightName(insight) }
              : [],
          )
          const chosen = alert?.insight.id ?? insight_id ?? Number(trends[0]?.value)
          return trends.length === 0 ? (
            <p>Save a trend first: alerts watch a line of one.</p>
          ) : (
            <AlertForm alert={alert} trends={trends} chosen={chosen} onClose={onClose} />
          )
        }}
      </Loaded>
    </Dialog>
  )
}

type AlertFormProps = {
  readonly alert: ShownAlert | null
  readonly trends: readonly { readonly value: string; readonly text: string }[]
  readonly chosen: number
  readonly onClose: () => void
}

function AlertForm({ alert, trends, chosen, onClose }: AlertFormProps): VNode {
  const { id } = useProject()
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
          <SelectField
            label="Trend"
            value={input.insight}
            options={trends}
            onChange={(insight) => change({ insight })}
            error={fieldError(error, 'insight')}
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
            hint="Gets a message in JSON when the state changes; chats show its text."
            error={fieldError(error, 'webhook_url')}
          />
        </>
      )}
    </Form>
  )
}

type RuleFieldsProps = {
  readonly input: AlertInput
  readonly change: (changes: Partial<AlertInput>) => void
  readonly error: unknown
}

/** The fields of the rule: the watched line, the condition, its bound. */
function RuleFields({ input, change, error }: RuleFieldsProps): VNode {
  const is_change = input.rule === 'rises' || input.rule === 'falls'
  return (
    <>
      <TextField
        label="Line of the trend, from 1"
        type="number"
        min={1}
        value={input.line}
        onInput={(line) => change({ line })}
      />
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
          label="In percent of the interval before"
          is_on={input.is_share}
          onChange={(is_share) => change({ is_share })}
        />
      )}
      <Toggle
        label="Include the current interval, which is not over yet"
        is_on={input.is_ongoing}
        onChange={(is_ongoing) => change({ is_ongoing })}
      />
    </>
  )
}
