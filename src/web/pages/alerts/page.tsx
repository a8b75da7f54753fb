/** Alerts: their rules and states, silencing one, the history of its checks. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { changeAlert, type ShownAlert, useAlert, useAlerts } from '../../api/alerts.ts'
import { Button } from '../../parts/button.tsx'
import { formatAgo, formatMoment, formatNumber } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { AlertDialog } from './alert-dialog.tsx'
import style from './alerts.module.css'
import { ruleText } from './rule-text.ts'

type OpenDialog =
  | { readonly kind: 'new' }
  | { readonly kind: 'edit' | 'history'; readonly alert: ShownAlert }

/** The page. `?insight=12` opens the dialog of a new alert on that insight. */
export function AlertsPage(): VNode {
  const [insight, setInsight] = useParam('insight')
  const may_edit = useMayEdit('alert')
  const [dialog, setDialog] = useState<OpenDialog | null>(
    may_edit && insight !== '' ? { kind: 'new' } : null,
  )
  const close = (): void => {
    setDialog(null)
    if (insight !== '') setInsight('', { is_typing: true })
  }
  return (
    <>
      <PageHead title="Alerts">
        {may_edit && (
          <Button look="main" icon="plus" onClick={() => setDialog({ kind: 'new' })}>
            New alert
          </Button>
        )}
      </PageHead>
      <Loaded
        of={useAlerts()}
        isEmpty={({ results }) => results.length === 0}
        empty={
          <EmptyNote title="No alerts yet" icon="alert">
            <p>
              An alert watches one series of a saved trend and calls a webhook when it is too high,
              too low, or changes too much.
            </p>
          </EmptyNote>
        }
      >
        {({ results }) => (
          <ul class={style.list}>
            {results.map((alert) => (
              <AlertItem key={alert.id} alert={alert} onOpen={setDialog} />
            ))}
          </ul>
        )}
      </Loaded>
      {dialog?.kind === 'new' && (
        <AlertDialog alert={null} insight_id={Number(insight) || null} onClose={close} />
      )}
      {dialog?.kind === 'edit' && (
        <AlertDialog alert={dialog.alert} insight_id={null} onClose={close} />
      )}
      {dialog?.kind === 'history' && <History alert={dialog.alert} onClose={close} />}
    </>
  )
}

const STATE_CLASSES = {
  Firing: style.firing,
  Errored: style.firing,
  Snoozed: style.snoozed,
  'Not firing': style.calm,
} as const

type AlertItemProps = { readonly alert: ShownAlert; readonly onOpen: (dialog: OpenDialog) => void }

function AlertItem({ alert, onOpen }: AlertItemProps): VNode {
  const { insight, enabled, state, snoozed_until, last_checked_at } = alert
  const { timezone } = useProject()
  const title = alert.name || insight.name || 'Alert'
  const shown = enabled ? state : 'Off'
  return (
    <li>
      <span class={`${style.state} ${enabled ? STATE_CLASSES[state] : style.snoozed}`}>
        {shown}
      </span>
      <span class={style.what}>
        <strong>{title}</strong>
        <span>
          {ruleText(alert)}, on{' '}
          <Link href={`/insights/${insight.short_id}`}>{insight.name || 'an insight'}</Link>
        </span>
      </span>
      <span class={style.when}>
        {state === 'Snoozed' && snoozed_until !== null
          ? `until ${formatMoment(snoozed_until, timezone)}`
          : last_checked_at === null
            ? 'not checked yet'
            : `checked ${formatAgo(last_checked_at)}`}
      </span>
      <Menu label={`Actions of ${title}`} items={useAlertActions(alert, onOpen)} />
    </li>
  )
}

const HOUR_MS = 3_600_000
/** SNOOZES: for how long an alert can be silenced. */
const SNOOZES = [
  { text: 'Silence for an hour', ms: HOUR_MS },
  { text: 'Silence for a day', ms: 24 * HOUR_MS },
  { text: 'Silence for a week', ms: 7 * 24 * HOUR_MS },
] as const

function useAlertActions(
  alert: ShownAlert,
  onOpen: (dialog: OpenDialog) => void,
): readonly (MenuItem | null)[] {
  const { id } = useProject()
  const may_edit = useMayEdit('alert')
  const send = async (method: 'DELETE' | 'PATCH', body?: object): Promise<void> => {
    try {
      await changeAlert(id, method, [`${alert.id}/`, body])
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  const snooze = (ms: number): void =>
    void send('PATCH', { snoozed_until: new Date(Date.now() + ms).toISOString() })
  const history = { text: 'History', onSelect: () => onOpen({ kind: 'history', alert }) }
  if (!may_edit) return [history]
  return [
    { text: 'Edit', onSelect: () => onOpen({ kind: 'edit', alert }) },
    history,
    null,
    ...(alert.state === 'Snoozed'
      ? [{ text: 'Watch again', onSelect: () => void send('PATCH', { snoozed_until: null }) }]
      : SNOOZES.map(({ text, ms }) => ({ text, onSelect: () => snooze(ms) }))),
    {
      text: alert.enabled ? 'Turn off' : 'Turn on',
      onSelect: () => void send('PATCH', { enabled: !alert.enabled }),
    },
    null,
    { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => void send('DELETE') },
  ]
}

type HistoryProps = { readonly alert: ShownAlert; readonly onClose: () => void }

function History({ alert, onClose }: HistoryProps): VNode {
  const { timezone } = useProject()
  return (
    <Dialog
      title={`History of ${alert.name || alert.insight.name || 'the alert'}`}
      onClose={onClose}
    >
      <Loaded
        of={useAlert(alert.id)}
        isEmpty={({ checks }) => checks.length === 0}
        empty={<EmptyNote title="Not checked yet" />}
      >
        {({ checks }) => (
          <table class={style.history}>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Value</th>
                <th scope="col">State</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {checks.map((check) => (
                <tr key={check.id}>
                  <td>{formatMoment(check.created_at, timezone)}</td>
                  <td>{formatNumber(check.calculated_value)}</td>
                  <td>{check.state}</td>
                  <td>{check.error ?? (check.targets_notified ? 'sent' : '')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </Dialog>
  )
}
