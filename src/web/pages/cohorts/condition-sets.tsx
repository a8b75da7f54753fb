/** The conditions of a cohort: sets, of which one must hold whole. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EventPicker } from '../../parts/fields/event-picker.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { isCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import type { OfferedProperties } from '../../parts/filters/property-list.tsx'
import { Popover } from '../../parts/overlays/popover.tsx'
import { type DoneCondition, doneCondition } from './behavior.ts'
import { type CohortSet, conditionText, isNegated } from './cohort-draft.ts'

const OFFERED: OfferedProperties = { owners: ['person', 'cohort'] }

type ConditionSetsProps = {
  readonly sets: readonly CohortSet[]
  readonly onChange: (sets: readonly CohortSet[]) => void
}

/** Draws the sets. */
export function ConditionSets({ sets, onChange }: ConditionSetsProps): VNode {
  return (
    <>
      {sets.length === 0 && <p class={style.hint}>Nobody is in the cohort.</p>}
      <ol class={style.conditions}>
        {sets.map((set, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- sets have no name of their own
          <li key={at}>
            <header>
              <h3>{at === 0 ? 'Persons for whom all of these hold' : 'Or all of these'}</h3>
              <IconButton
                icon="trash"
                label={`Remove set ${at + 1}`}
                onClick={() => onChange(sets.toSpliced(at, 1))}
              />
            </header>
            <SetConditions set={set} onChange={(changed) => onChange(sets.with(at, changed))} />
          </li>
        ))}
      </ol>
      <Button icon="plus" onClick={() => onChange([...sets, []])}>
        Add a set
      </Button>
    </>
  )
}

type SetConditionsProps = {
  readonly set: CohortSet
  readonly onChange: (set: CohortSet) => void
}

function SetConditions({ set, onChange }: SetConditionsProps): VNode {
  const filters = set.filter(isCondition).filter((condition) => !isNegated(condition))
  const others = set.filter((condition) => !isCondition(condition) || isNegated(condition))
  return (
    <div class={style.who}>
      {set.length === 0 && 'Everyone'}
      {others.map((condition, at) => {
        const text = conditionText(condition)
        return (
          // oxlint-disable-next-line react/no-array-index-key -- the same condition may stand twice
          <span key={at} class={style.fixed}>
            {text}
            <IconButton
              icon="close"
              label={`Remove the condition ${text}`}
              onClick={() => onChange([...filters, ...others.toSpliced(at, 1)])}
            />
          </span>
        )
      })}
      <PropertyFilters
        filters={filters}
        onChange={(next) => onChange([...next, ...others])}
        offered={OFFERED}
        text="Property"
      />
      <Popover label="Add a condition on events" text="Events" icon="events" is_bare>
        {(close) => (
          <DoneEditor
            onDone={(added) => {
              onChange([...filters, ...others, added])
              close()
            }}
          />
        )}
      </Popover>
    </div>
  )
}

const DID = [
  { value: 'did', text: 'Did' },
  { value: 'not', text: 'Did not do' },
] as const

/** The form of a condition on events. */
function DoneEditor({ onDone }: { readonly onDone: (added: DoneCondition) => void }): VNode {
  const [did, setDid] = useState('did')
  const [event, setEvent] = useState<string | null>(null)
  const [times, setTimes] = useState('1')
  const [days, setDays] = useState('30')
  const is_complete = event !== null && Number(times) >= 1 && Number(days) >= 1
  const finish = (): void => {
    if (event === null || !is_complete) return
    const counts = { times: Math.round(Number(times)), days: Math.round(Number(days)) }
    onDone(doneCondition({ event, is_not: did === 'not', ...counts }))
  }
  return (
    <form
      class={style.column}
      onSubmit={(submitted) => {
        submitted.preventDefault()
        finish()
      }}
    >
      <SelectField label="Persons who" value={did} options={DID} onChange={setDid} />
      <EventPicker value={event} onChange={setEvent} has_all={false} />
      <TextField label="At least, times" type="number" min={1} value={times} onInput={setTimes} />
      <TextField label="In the last, days" type="number" min={1} value={days} onInput={setDays} />
      <Button type="submit" look="main" disabled={!is_complete}>
        Done
      </Button>
    </form>
  )
}
