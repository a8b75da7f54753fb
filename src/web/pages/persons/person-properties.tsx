/** The properties of a person: searched, changed in place, taken away. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { changePerson, type PersonListed } from '../../api/persons.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { EmptyNote } from '../../parts/empty-note.tsx'
import { ErrorNote, errorText } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/field.tsx'
import { propertyTitle } from '../../parts/names.ts'
import { showToast } from '../../parts/toast.tsx'
import { useProject } from '../../state/project.tsx'
import style from './persons.module.css'

type PersonPropertiesProps = { readonly person: PersonListed }

type EditedProperty = { readonly key: string; readonly value: unknown; readonly is_new: boolean }

/** Draws the list, those of the project's own before those that SDKs set by themselves. */
export function PersonProperties({ person }: PersonPropertiesProps): VNode {
  const [search, setSearch] = useState('')
  const [edited, setEdited] = useState<EditedProperty | null>(null)
  const found = Object.entries(person.properties)
    .filter(([key]) => `${key} ${propertyTitle(key)}`.toLowerCase().includes(search.toLowerCase()))
    .toSorted(([one], [other]) => rank(one) - rank(other) || one.localeCompare(other))
  return (
    <section class={style.properties} aria-label="Properties">
      <header>
        <h2>Properties</h2>
        <Button
          icon="plus"
          look="quiet"
          onClick={() => setEdited({ key: '', value: '', is_new: true })}
        >
          Add
        </Button>
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
                title={`Change ${propertyTitle(key)}`}
                onClick={() => setEdited({ key, value, is_new: false })}
              >
                {valueText(value)}
              </button>
            </dd>
          </div>
        ))}
      </dl>
      {edited && <Editor person={person} edited={edited} onClose={() => setEdited(null)} />}
    </section>
  )
}

const rank = (key: string): number => (key.startsWith('$') ? 1 : 0)

const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

type PropertyEditorProps = PersonPropertiesProps & {
  readonly edited: EditedProperty
  readonly onClose: () => void
}

function Editor({ person, edited, onClose }: PropertyEditorProps): VNode {
  const { id } = useProject()
  const [key, setKey] = useState(edited.key)
  const [text, setText] = useState(valueText(edited.value))
  const [error, setError] = useState<unknown>(null)
  const change = async (path: string, body: object): Promise<void> => {
    try {
      await changePerson(id, 'POST', [`${person.uuid}/${path}/`, body])
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
        {error !== null && <ErrorNote message={errorText(error)} />}
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
