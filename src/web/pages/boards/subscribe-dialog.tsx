/** The subscriptions of a board: webhooks that get its figures, and its picture, on a schedule. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import {
  type Board,
  type BoardSubscription,
  changeBoards,
  useSubscriptions,
} from '../../api/boards.ts'
import { IconButton } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { formatAgo, formatMoment } from '../../parts/format.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import style from './boards.module.css'

type SubscribeDialogProps = { readonly board: Board; readonly onClose: () => void }

/** Lists the subscriptions of a board, and adds another one. */
export function SubscribeDialog({ board, onClose }: SubscribeDialogProps): VNode {
  return (
    <Dialog title="Post to a webhook" onClose={onClose}>
      <div class={style.form}>
        <p>
          The webhook receives the numbers of this board as JSON, as you see them, and a picture if
          the server can draw one.
        </p>
        <Loaded of={useSubscriptions(board.id)}>
          {({ results }) => (
            <ul class={style.subscriptions}>
              {results.map((subscription) => (
                <SubscriptionItem key={subscription.id} subscription={subscription} />
              ))}
            </ul>
          )}
        </Loaded>
        <NewSubscription board={board} />
      </div>
    </Dialog>
  )
}

const FREQUENCIES = [
  { value: 'daily', text: 'Every day' },
  { value: 'weekly', text: 'Every week' },
  { value: 'monthly', text: 'Every month' },
] as const

type SubscriptionItemProps = { readonly subscription: BoardSubscription }

function SubscriptionItem({ subscription }: SubscriptionItemProps): VNode {
  const { id: project_id, timezone } = useProject()
  const { id, target_value, frequency, next_delivery_date, last_delivery_date } = subscription
  const every = FREQUENCIES.find(({ value }) => value === frequency)?.text
  const end = async (): Promise<void> => {
    try {
      await changeBoards(project_id, 'PATCH', [`subscriptions/${id}/`, { deleted: true }])
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  return (
    <li>
      <span>
        <strong>{new URL(target_value).host}</strong>
        <span>
          {every}, next {formatMoment(next_delivery_date, timezone)}
          {last_delivery_date !== null && `, last ${formatAgo(last_delivery_date)}`}
        </span>
        {subscription.last_error !== null && <span role="status">{subscription.last_error}</span>}
      </span>
      <IconButton
        icon="trash"
        label={`Stop posting to ${new URL(target_value).host}`}
        onClick={() => void end()}
      />
    </li>
  )
}

const FIELDS = ['target_value', 'start_date']

function NewSubscription({ board }: { readonly board: Board }): VNode {
  const { id } = useProject()
  const [address, setAddress] = useState('')
  const [frequency, setFrequency] = useState('daily')
  const [first, setFirst] = useState('')
  const submit = async (): Promise<void> => {
    await changeBoards(id, 'POST', [
      'subscriptions/',
      {
        dashboard: board.id,
        target_type: 'webhook',
        target_value: address,
        frequency,
        ...(first !== '' && { start_date: new Date(first).toISOString() }),
      },
    ])
    setAddress('')
  }
  return (
    <Form action="Subscribe" fields={FIELDS} onSubmit={submit}>
      {(error) => (
        <>
          <TextField
            label="Webhook"
            type="url"
            placeholder="https://"
            required
            value={address}
            onInput={setAddress}
            error={fieldError(error, 'target_value')}
          />
          <SelectField
            label="How often"
            value={frequency}
            options={FREQUENCIES}
            onChange={setFrequency}
          />
          <TextField
            label="First time"
            type="datetime-local"
            hint="Leave it empty to start now. Later posts are sent at the same time of day."
            value={first}
            onInput={setFirst}
            error={fieldError(error, 'start_date')}
          />
        </>
      )}
    </Form>
  )
}
