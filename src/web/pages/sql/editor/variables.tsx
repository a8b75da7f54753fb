/** The variables that a text names: a field each, of the type of the saved variable. */
import type { JSX, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { createVariable, type ListedVariable } from '../../../api/variables.ts'
import { IconButton } from '../../../parts/button.tsx'
import { errorText } from '../../../parts/notes/error-note.tsx'
import { showToast } from '../../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../../state/project.tsx'
import type { VariableTexts } from '../node.ts'
import { cellText } from '../results/cells.ts'
import style from '../sql.module.css'

type VariableFieldsProps = {
  readonly names: readonly string[]
  readonly saved: readonly ListedVariable[]
  readonly values: VariableTexts
  readonly onChange: (values: VariableTexts) => void
  readonly onRun: () => void
}

/** Draws the fields; one that is not saved yet can be, with its value as the default. */
export function VariableFields(props: VariableFieldsProps): VNode | null {
  const { names, saved, values, onChange, onRun } = props
  if (names.length === 0) return null
  return (
    <form
      class={style.variables}
      aria-label="Variables"
      onSubmit={(event) => {
        event.preventDefault()
        onRun()
      }}
    >
      {names.map((name) => (
        <VariableField
          key={name}
          name={name}
          known={saved.find(({ code_name }) => code_name === name) ?? null}
          value={values[name] ?? ''}
          onInput={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
      {/* Enter in a field runs the text. */}
      <button type="submit" class="unseen" tabIndex={-1}>
        Run
      </button>
    </form>
  )
}

type VariableFieldProps = {
  readonly name: string
  readonly known: ListedVariable | null
  readonly value: string
  readonly onInput: (value: string) => void
}

function VariableField({ name, known, value, onInput }: VariableFieldProps): VNode {
  const id = useId()
  const may_save = useMayEdit('insight')
  return (
    <div>
      <label for={id}>{known?.name ?? name}</label>
      <span>
        <ValueInput id={id} known={known} value={value} onInput={onInput} />
        {known === null && may_save && <SaveVariable name={name} value={value} />}
      </span>
    </div>
  )
}

type ValueInputProps = Pick<VariableFieldProps, 'known' | 'onInput' | 'value'> & {
  readonly id: string
}

/** The input that fits the type; its placeholder is the default. */
function ValueInput({ id, known, value, onInput }: ValueInputProps): VNode {
  const choices = known === null ? null : choicesOf(known)
  const usual = cellText(known?.default_value)
  const shared = {
    id,
    class: 'field',
    value,
    onInput: (event: JSX.TargetedInputEvent<HTMLInputElement | HTMLSelectElement>) =>
      onInput(event.currentTarget.value),
  }
  if (choices === null) return <input {...shared} type={inputType(known)} placeholder={usual} />
  return (
    <select {...shared}>
      <option value="">{usual === '' ? '—' : `${usual} (default)`}</option>
      {choices.map((choice) => (
        <option key={choice} value={choice}>
          {choice}
        </option>
      ))}
    </select>
  )
}

function choicesOf({ type, values }: ListedVariable): readonly string[] | null {
  if (type === 'Boolean') return ['true', 'false']
  return type === 'List' ? (values ?? []).map(cellText) : null
}

const inputType = (known: ListedVariable | null): string =>
  known?.type === 'Number' ? 'number' : known?.type === 'Date' ? 'date' : 'text'

/** Code names are made of small letters, digits and these. */
const CODE_NAME = /^[a-z0-9_]+$/
const NUMBER = /^-?\d+(\.\d+)?$/

function SaveVariable({ name, value }: { readonly name: string; readonly value: string }): VNode {
  const { id } = useProject()
  const save = async (): Promise<void> => {
    const is_number = NUMBER.test(value)
    try {
      await createVariable(id, {
        name,
        type: is_number ? 'Number' : 'String',
        default_value: is_number ? Number(value) : value,
      })
      showToast({ text: `${name} is now a variable of this project` })
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  return (
    <IconButton
      icon="plus"
      label={`Save ${name} as a variable with this default`}
      disabled={value === '' || !CODE_NAME.test(name)}
      onClick={() => void save()}
    />
  )
}
