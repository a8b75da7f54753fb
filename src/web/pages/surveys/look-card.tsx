/** The kind of a survey and its looks. */
import type { VNode } from 'preact'
import edited from '../../parts/fields/edited-page.module.css'
import { TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { CheckField } from './check-field.tsx'
import { SURVEY_KINDS, withStored } from './kinds.ts'
import type { ChangeSurvey } from './question-list.tsx'
import { type DraftedSurvey, textOf, withMember } from './survey-draft.ts'
import style from './surveys.module.css'

type LookCardProps = { readonly draft: DraftedSurvey; readonly change: ChangeSurvey }

const POSITIONS = [
  { value: 'right', text: 'Bottom right' },
  { value: 'center', text: 'Bottom centre' },
  { value: 'left', text: 'Bottom left' },
  { value: 'middle_right', text: 'Middle right' },
  { value: 'middle_center', text: 'Middle' },
  { value: 'middle_left', text: 'Middle left' },
  { value: 'top_right', text: 'Top right' },
  { value: 'top_center', text: 'Top centre' },
  { value: 'top_left', text: 'Top left' },
]

/** Draws the card. */
export function LookCard({ draft, change }: LookCardProps): VNode {
  const { type, appearance } = draft
  const position = textOf(appearance['position']) || 'right'
  const put = (name: string, value: unknown): void =>
    change({ appearance: withMember(appearance, name, value) })
  return (
    <section class={edited.card} aria-labelledby="look">
      <h2 id="look">How it looks</h2>
      <div class={style.fields}>
        <SelectField
          label="Shown as"
          value={type}
          options={withStored(SURVEY_KINDS, type)}
          onChange={(value) => change({ type: value })}
        />
        {(type === 'popover' || type === 'widget') && (
          <SelectField
            label="Place"
            value={position}
            options={withStored(POSITIONS, position)}
            onChange={(value) => put('position', value)}
          />
        )}
      </div>
      {type === 'widget' && <WidgetFields draft={draft} change={change} />}
      {type !== 'api' && <AppearanceFields draft={draft} change={change} />}
    </section>
  )
}

const WIDGETS = [
  { value: 'tab', text: 'A tab at the edge' },
  { value: 'selector', text: 'An element of your page' },
]

function WidgetFields({ draft: { appearance }, change }: LookCardProps): VNode {
  const kind = textOf(appearance['widgetType']) || 'tab'
  const [name, label, placeholder] =
    kind === 'selector'
      ? (['widgetSelector', 'Element', '#feedback'] as const)
      : (['widgetLabel', 'Text on it', 'Feedback'] as const)
  return (
    <div class={style.fields}>
      <SelectField
        label="Opened by"
        value={kind}
        options={withStored(WIDGETS, kind)}
        onChange={(value) => change({ appearance: { ...appearance, widgetType: value } })}
      />
      <TextField
        label={label}
        placeholder={placeholder}
        value={textOf(appearance[name])}
        onInput={(text) =>
          change({ appearance: withMember(appearance, name, text) }, { is_typing: true })
        }
        spellcheck={false}
      />
    </div>
  )
}

const COLOURS = [
  { name: 'backgroundColor', label: 'Background', fallback: '#eeeded' },
  { name: 'submitButtonColor', label: 'Button', fallback: '#000000' },
  { name: 'borderColor', label: 'Border', fallback: '#c9c6c6' },
] as const

function AppearanceFields({ draft: { appearance }, change }: LookCardProps): VNode {
  const has_thanks = appearance['displayThankYouMessage'] === true
  const type = (name: string, text: string): void =>
    change({ appearance: withMember(appearance, name, text) }, { is_typing: true })
  return (
    <details class={style.more}>
      <summary>Thanks and colours</summary>
      <div class={edited.column}>
        <CheckField
          label="Thank people at the end"
          is_on={has_thanks}
          onChange={(is_on) =>
            change({ appearance: { ...appearance, displayThankYouMessage: is_on } })
          }
        />
        {has_thanks && (
          <div class={style.fields}>
            <TextField
              label="Heading"
              value={textOf(appearance['thankYouMessageHeader'])}
              placeholder="Thank you!"
              onInput={(text) => type('thankYouMessageHeader', text)}
            />
            <TextField
              label="Text"
              value={textOf(appearance['thankYouMessageDescription'])}
              onInput={(text) => type('thankYouMessageDescription', text)}
            />
          </div>
        )}
        <div class={style.colours}>
          {COLOURS.map(({ name, label, fallback }) => (
            <label key={name}>
              <input
                type="color"
                value={hexOf(appearance[name], fallback)}
                onInput={(event) => type(name, event.currentTarget.value)}
              />
              {label}
            </label>
          ))}
        </div>
      </div>
    </details>
  )
}

/** The colour that the field can show; names and functions of CSS stay stored until another is chosen. */
const hexOf = (value: unknown, fallback: string): string =>
  /^#[\da-f]{6}$/i.test(textOf(value)) ? textOf(value) : fallback
