/** The properties of a person or a group: searched, changed in place, taken away. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { changeProperty, type PropertyHolder } from '../../api/persons/property-history.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { propertyTitle } from '../../parts/names.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PropertyValue, valueText } from '../../parts/property-value.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import style from './persons.module.css'
import { PropertyHistory } from './property-history.tsx'

type PropertyPanelProps = {
  readonly holder: PropertyHolder
  readonly properties: Readonly<Record<string, unknown>>
}

type EditedProperty = { readonly key: string; readonly value: unknown; readonly is_new: boolean }

/** Draws the list, those of the project's own before those that SDKs set by themselves. */
export function Properties({ holder, properties }: PropertyPanelProps): VNode {
  const [search, setSearch] = useState('')
  const [edited, setEdited] = useState<EditedProperty | null>(null)
  const may_edit = useMayEdit(holder.kind)
  const found = Object.entries(properties)
    .filter(([key]) => `${key} ${propertyTitle(key)}`.toLowerCase().includes(search.toLowerCase()))
    .toSorted(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other))
  return (
    <section class={style.properties} aria-label="Properties">
      <header>
        <h2>Properties</h2>
        {may_edit && (
          <Button
            icon="plus"
            look="quiet"
            onClick={() => setEdited({ key: '', value: '', is_new: true })}
          >
            Add
          </Button>
        )}
      </header>
      <input
        type="search"
        class="field"
        placeholder="Search properties"
        aria-label="Search properties"
        value={search}
        onInput={(event) => setSearch(event.currentTarget.value)}
      />
      {found.length === 0 && <EmptyNote title="No properties" />}
      <dl>
        {found.map(([key, value]) => (
          <div key={key}>
            <dt title={key}>{propertyTitle(key)}</dt>
            <dd>
              <button
                type="button"
                title={`${may_edit ? 'Change' : 'History of'} ${propertyTitle(key)}`}
                onClick={() => setEdited({ key, value, is_new: false })}
              >
                <PropertyValue value={value} />
              </button>
            </dd>
          </div>
        ))}
      </dl>
      {edited &&
        (may_edit ? (
          <Editor holder={holder} edited={edited} onClose={() => setEdited(null)} />
        ) : (
          <Dialog title={propertyTitle(edited.key)} onClose={() => setEdited(null)}>
            <PropertyHistory holder={holder} name={edited.key} />
          </Dialog>
        ))}
    </section>
  )
}

const rank = (key: string): number => (key.startsWith('$') ? 1 : 0)

type PropertyEditorProps = {
  readonly holder: PropertyHolder
  readonly edited: EditedProperty
  readonly onClose: () => void
}

function Editor({ holder, edited, onClose }: PropertyEditorProps): VNode {
  const { id } = useProject()
  const [key, setKey] = useState(edited.key)
  const [text, setText] = useState(valueText(edited.value))
  const [error, setError] = useState<unknown>(null)
  const change = async (...to: Parameters<typeof changeProperty>[2]): Promise<void> => {
    try {
      await changeProperty(id, holder, to)
      onClose()
      showToast({ text: 'Changed' })
    } catch (failure) {
      setError(failure)
    }
  }
  const value = typeof edited.value === 'string' && !edited.is_new ? text : readValue(text)
  return (
    <Dialog title={edited.is_new ? 'Add a property' : propertyTitle(key)} onClose={onClose}>
      <form
        class={style.form}
        onSubmit={(event) => {
          event.preventDefault()
          void change('update_property', { key: key.trim(), value })
        }}
      >
        {edited.is_new && (
          <TextField label="Name" value={key} onInput={setKey} required maxLength={200} />
        )}
        <TextField
          label="Value"
          value={text}
          onInput={setText}
          hint={edited.is_new && 'Numbers, true, false, lists and objects are read as JSON.'}
        />
        {error !== null && <ErrorNote message={changeErrorText(error)} />}
        <div>
          {!edited.is_new && (
            <IconButton
              icon="trash"
              label={`Remove ${propertyTitle(key)}`}
              onClick={() => void change('delete_property', { $unset: key })}
            />
          )}
          <Button type="submit" look="main">
            Save
          </Button>
        </div>
      </form>
      {!edited.is_new && <PropertyHistory holder={holder} name={edited.key} />}
    </Dialog>
  )
}

/** JSON where it is some, else the text itself. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
