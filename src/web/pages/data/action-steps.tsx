/** The steps of an action, of which an event meets one. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import type { ActionStep } from '../../api/types/shown-action.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EventPicker } from '../../parts/fields/event-picker.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { isCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import type { ChangeOptions } from '../../state/url.ts'
import { MATCHES, MATCHINGS, NEW_STEP, propertyText } from './action-draft.ts'

type ActionStepsProps = {
  readonly steps: readonly ActionStep[]
  readonly onChange: (steps: readonly ActionStep[], options?: ChangeOptions) => void
  /** The last refusal, which may name a text of a step. */
  readonly error: unknown
}

/** Draws the steps. */
export function ActionSteps({ steps, onChange, error }: ActionStepsProps): VNode {
  return (
    <>
      {steps.length === 0 && <p class={style.hint}>No event is the action.</p>}
      <ol class={style.conditions}>
        {steps.map((step, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- steps have no name of their own
          <li key={at}>
            <header>
              <h3>{at === 0 ? 'Events that meet all of this' : 'Or all of this'}</h3>
              <IconButton
                icon="trash"
                label={`Remove step ${at + 1}`}
                onClick={() => onChange(steps.toSpliced(at, 1))}
              />
            </header>
            <StepConditions
              step={step}
              at={at}
              error={error}
              change={(changes, options) =>
                onChange(steps.with(at, { ...step, ...changes }), options)
              }
            />
          </li>
        ))}
      </ol>
      <Button icon="plus" onClick={() => onChange([...steps, NEW_STEP])}>
        Add a step
      </Button>
    </>
  )
}

type StepProps = {
  readonly step: ActionStep
  readonly at: number
  readonly change: (changes: Partial<ActionStep>, options?: ChangeOptions) => void
  readonly error: unknown
}

/** Events that have an element. */
const ON_ELEMENTS: ReadonlySet<string | null> = new Set(['$autocapture', '$rageclick'])

const [URL, ...ELEMENTS] = MATCHES

function StepConditions(props: StepProps): VNode {
  const { step, change } = props
  const { event, properties } = step
  const filters = properties.filter(isCondition)
  const others = properties.filter((property) => !isCondition(property))
  const has_element = [step.text, step.href, step.selector, step.tag_name].some(Boolean)
  // It does not close under a field whose text is deleted.
  const is_open = useRef(false)
  is_open.current ||= has_element || ON_ELEMENTS.has(event)
  return (
    <>
      <div class={style.who}>
        <EventPicker value={event || null} onChange={(name) => change({ event: name })} />
        {others.map((property) => (
          <span key={propertyText(property)} class={style.fixed}>
            {propertyText(property)}
          </span>
        ))}
        <PropertyFilters
          filters={filters}
          event_names={event ? [event] : []}
          onChange={(next) => change({ properties: [...others, ...next] })}
        />
      </div>
      <MatchField {...props} match={URL} />
      <details open={is_open.current}>
        <summary>Clicked element</summary>
        <div class={style.column}>
          {ELEMENTS.map((match) => (
            <MatchField key={match.of} {...props} match={match} />
          ))}
          <div class={style.pair}>
            <TextField
              label="Tag of the element"
              value={step.tag_name ?? ''}
              placeholder="button"
              maxLength={4000}
              onInput={(text) => change({ tag_name: text || null }, { is_typing: true })}
            />
            <TextField
              label="CSS selector"
              value={step.selector ?? ''}
              placeholder="form.signup > button"
              maxLength={4000}
              spellcheck={false}
              onInput={(text) => change({ selector: text || null }, { is_typing: true })}
            />
          </div>
        </div>
      </details>
    </>
  )
}

type MatchFieldProps = StepProps & { readonly match: (typeof MATCHES)[number] }

function MatchField({ match, step, at, change, error }: MatchFieldProps): VNode {
  const { of, matching, text, usual } = match
  const refusal = fieldError(error, `steps__${at}__${of}`)
  return (
    <div class={style.match} role="group" aria-label={text}>
      <span>{text}</span>
      <select
        class="field"
        aria-label={`Comparison: ${text}`}
        value={step[matching] ?? usual}
        onChange={({ currentTarget: { value } }) =>
          change({ [matching]: MATCHINGS.find((one) => one.value === value)?.value ?? null })
        }
      >
        {MATCHINGS.map((one) => (
          <option key={one.value} value={one.value}>
            {one.text}
          </option>
        ))}
      </select>
      <input
        class="field"
        type="text"
        aria-label={text}
        maxLength={4000}
        spellcheck={false}
        aria-invalid={refusal === null ? undefined : true}
        value={step[of] ?? ''}
        onInput={(event) =>
          change({ [of]: event.currentTarget.value || null }, { is_typing: true })
        }
      />
      {refusal !== null && <span class={style.warning}>{refusal}</span>}
    </div>
  )
}
