/** All properties of one event: beside the list on wide windows, over it on narrow ones. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ListedEvent, useEvent } from '../../api/events.ts'
import { IconButton } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import { formatMoment } from '../../parts/format.ts'
import { eventTitle, propertyTitle } from '../../parts/names.ts'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { PropertyValue } from '../../parts/property-value.tsx'
import { useProject } from '../../state/project.tsx'
import style from './events.module.css'

type EventDetailProps = {
  readonly event: ListedEvent
  readonly is_beside?: boolean
  readonly onClose: () => void
}

/** Draws the event's time, person and properties, or its JSON. */
export function EventDetail({ event, is_beside = false, onClose }: EventDetailProps): VNode {
  // Lists leave out long properties.
  const whole = useEvent(event.is_cut === true ? event.id : null)
  const shown = whole.data ?? event
  const json = (): string => JSON.stringify(shown, null, 2)
  const copy = <CopyButton text={json} label="Copy as JSON" is_named />
  const body = <EventBody event={shown} json={json} />
  if (!is_beside) {
    return (
      <Dialog title={eventTitle(event.event)} is_wide onClose={onClose} foot={copy}>
        {body}
      </Dialog>
    )
  }
  return (
    <BesidePanel title={eventTitle(event.event)} onClose={onClose} foot={copy}>
      {body}
    </BesidePanel>
  )
}

type BesidePanelProps = {
  readonly title: string
  readonly onClose: () => void
  readonly foot: ComponentChildren
  readonly children: ComponentChildren
}

function BesidePanel({ title, onClose, foot, children }: BesidePanelProps): VNode {
  return (
    <section class={style.beside} aria-label={`Event ${title}`}>
      <header>
        <h2>{title}</h2>
        {foot}
        <IconButton icon="close" label="Close the event" onClick={onClose} />
      </header>
      {children}
    </section>
  )
}

const FORMS = [
  { value: 'list', text: 'List' },
  { value: 'json', text: 'JSON' },
] as const

type EventBodyProps = { readonly event: ListedEvent; readonly json: () => string }

function EventBody({ event, json }: EventBodyProps): VNode {
  const { timezone } = useProject()
  const [form, setForm] = useState<'json' | 'list'>('list')
  const properties = Object.entries(event.properties).toSorted(([one], [other]) =>
    propertyTitle(one).localeCompare(propertyTitle(other)),
  )
  return (
    <>
      <Choice label="Show as" options={FORMS} value={form} onChange={setForm} />
      {form === 'json' ? (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
        <pre class={style.json} tabIndex={0} role="region" aria-label="JSON">
          {json()}
        </pre>
      ) : (
        <dl class={style.facts}>
          <Fact name="Time" value={formatMoment(event.timestamp, timezone)} />
          <Fact name="Distinct id" value={event.distinct_id} />
          {properties.map(([name, value]) => (
            <Fact
              key={name}
              name={propertyTitle(name)}
              title={name}
              value={<PropertyValue value={value} />}
            />
          ))}
        </dl>
      )}
    </>
  )
}

type FactProps = {
  readonly name: string
  readonly value: ComponentChildren
  readonly title?: string
}

function Fact({ name, value, title }: FactProps): VNode {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
