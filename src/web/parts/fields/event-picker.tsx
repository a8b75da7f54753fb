/** A button that chooses one event by name. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useEventNames } from '../../api/definitions.ts'
import type { ButtonLook } from '../button.tsx'
import { eventTitle } from '../names.ts'
import type { ComboOption } from './combobox.tsx'
import { Picker } from './picker.tsx'

type EventPickerProps = {
  /** The event's name; null for all events. */
  readonly value: string | null
  readonly onChange: (event: string | null) => void
  /** Offers "All events" first. */
  readonly has_all?: boolean
  readonly label?: string
  readonly look?: ButtonLook
}

/** The value of "All events" in the list; no event has an empty name. */
const ALL = ''

/** Draws the button; the list is searched in the server. */
export function EventPicker(props: EventPickerProps): VNode {
  const { value, onChange, has_all = true, label = 'Event', look } = props
  const [search, setSearch] = useState('')
  const { data, isFetching } = useEventNames(search)
  const all: readonly ComboOption[] =
    has_all && search === '' ? [{ value: ALL, text: 'All events' }] : []
  const options = [...all, ...(data?.results ?? []).map(({ name }) => eventOption(name))]
  return (
    <Picker
      label={label}
      options={options}
      value={value ?? (has_all ? ALL : null)}
      text={value === null && !has_all ? 'Choose an event' : eventTitle(value)}
      icon="events"
      is_loading={isFetching}
      onSearch={setSearch}
      {...(look && { look })}
      onChange={(name) => onChange(name === ALL ? null : name)}
    />
  )
}

function eventOption(name: string): ComboOption {
  const text = eventTitle(name)
  return text === name ? { value: name, text } : { value: name, text, hint: name }
}
