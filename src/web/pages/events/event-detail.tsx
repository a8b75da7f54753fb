/** Everything that one event says. */
import type { VNode } from 'preact'
import type { ListedEvent } from '../../api/events.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { formatMoment } from '../../parts/format.ts'
import { eventTitle, propertyTitle } from '../../parts/names.ts'
import { useProject } from '../../state/project.tsx'
import style from './events.module.css'

type EventDetailProps = { readonly event: ListedEvent; readonly onClose: () => void }

/** Draws the event's time, person and properties in a dialog. */
export function EventDetail({ event, onClose }: EventDetailProps): VNode {
  const { timezone } = useProject()
  const properties = Object.entries(event.properties).toSorted(([one], [other]) =>
    propertyTitle(one).localeCompare(propertyTitle(other)),
  )
  const json = (): string => JSON.stringify(event, null, 2)
  return (
    <Dialog
      title={eventTitle(event.event)}
      is_wide
      onClose={onClose}
      foot={<CopyButton text={json} label="Copy as JSON" is_named />}
    >
      <dl class={style.facts}>
        <Fact name="Time" value={formatMoment(event.timestamp, timezone)} />
        <Fact name="Distinct id" value={event.distinct_id} />
        {properties.map(([name, value]) => (
          <Fact key={name} name={propertyTitle(name)} title={name} value={valueText(value)} />
        ))}
      </dl>
    </Dialog>
  )
}

const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

type FactProps = { readonly name: string; readonly value: string; readonly title?: string }

function Fact({ name, value, title }: FactProps): VNode {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
