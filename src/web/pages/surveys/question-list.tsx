/** The questions of a survey in their order: added, moved, changed and removed. */
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { TextField } from '../../parts/fields/field.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { useMayEdit } from '../../state/project.tsx'
import type { ChangeOptions } from '../../state/url.ts'
import { CheckField } from './check-field.tsx'
import { withStored } from './kinds.ts'
import {
  addChoice,
  type DraftedSurvey,
  listOf,
  moveQuestion,
  removeChoice,
  removeQuestion,
  type SurveyMembers,
  shownText,
  textOf,
  withMember,
} from './survey-draft.ts'
import style from './surveys.module.css'
import { OPEN_QUESTION, QUESTION_TYPES } from './templates.ts'

export type ChangeSurvey = (changes: Partial<DraftedSurvey>, options?: ChangeOptions) => void

type QuestionListProps = { readonly draft: DraftedSurvey; readonly change: ChangeSurvey }

const QUESTIONS_MAX = 100

/** Draws the questions. */
export function QuestionList({ draft, change }: QuestionListProps): VNode {
  const { questions } = draft
  const list = useRef<HTMLOListElement>(null)
  const focused = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (focused.current === null) return
    // The focus follows a question that was moved; at an end, to the button that moves it back.
    const buttons = list.current?.querySelectorAll<HTMLButtonElement>(focused.current)
    const button = [...(buttons ?? [])].find((one) => !one.disabled)
    button?.focus()
    focused.current = null
  })
  const move = (from: number, to: number): void => {
    const [first, other] = to < from ? ['up', 'down'] : ['down', 'up']
    const item = `li:nth-child(${to + 1}) > header`
    focused.current = `${item} [data-move=${first}], ${item}:has([data-move=${first}]:disabled) [data-move=${other}]`
    change({ questions: moveQuestion(questions, from, to) })
  }
  return (
    <>
      {questions.length === 0 && <p class={edited.hint}>A survey needs a question.</p>}
      <ol ref={list} class={edited.conditions}>
        {questions.map((question, at) => (
          <QuestionItem
            // oxlint-disable-next-line react/no-array-index-key -- new questions have no id yet
            key={at}
            at={at}
            count={questions.length}
            question={question}
            onChange={(changed, options) =>
              change({ questions: questions.with(at, changed) }, options)
            }
            onMove={(to) => move(at, to)}
            onRemove={() => change({ questions: removeQuestion(questions, at) })}
          />
        ))}
      </ol>
      <Button
        icon="plus"
        disabled={questions.length >= QUESTIONS_MAX}
        onClick={() => change({ questions: [...questions, OPEN_QUESTION] })}
      >
        Add a question
      </Button>
    </>
  )
}

type ChangeQuestion = (question: SurveyMembers, options?: ChangeOptions) => void

type QuestionItemProps = {
  /** From 0. */
  readonly at: number
  readonly count: number
  readonly question: SurveyMembers
  readonly onChange: ChangeQuestion
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

function QuestionItem(props: QuestionItemProps): VNode {
  const { at, count, question, onChange, onMove, onRemove } = props
  const may_edit = useMayEdit('survey')
  const number = at + 1
  const type = textOf(question['type'])
  const changeType = (value: string): void => {
    const defaults = QUESTION_TYPES.find((one) => one.value === value)?.defaults
    onChange({ ...defaults, ...question, type: value })
  }
  return (
    <li>
      <header>
        <h3>Question {number}</h3>
        {may_edit && (
          <div>
            <IconButton
              icon="up"
              label={`Move question ${number} up`}
              data-move="up"
              disabled={at === 0}
              onClick={() => onMove(at - 1)}
            />
            <IconButton
              icon="chevron"
              label={`Move question ${number} down`}
              data-move="down"
              disabled={number === count}
              onClick={() => onMove(at + 1)}
            />
            <IconButton icon="trash" label={`Remove question ${number}`} onClick={onRemove} />
          </div>
        )}
      </header>
      <div class={style.question}>
        <MemberField name="question" label="Question" question={question} onChange={onChange} />
        <SelectField
          label="Answered by"
          value={type}
          options={withStored(QUESTION_TYPES, type)}
          onChange={changeType}
        />
      </div>
      <TypeFields question={question} onChange={onChange} />
      <MoreFields question={question} onChange={onChange} />
    </li>
  )
}

type MemberFieldProps = {
  readonly name: string
  readonly label: string
  readonly question: SurveyMembers
  readonly onChange: ChangeQuestion
  readonly placeholder?: string
  readonly hint?: string
}

/** A line of text that is one member of a question. */
function MemberField({
  name,
  label,
  question,
  onChange,
  placeholder,
  hint,
}: MemberFieldProps): VNode {
  return (
    <TextField
      label={label}
      value={textOf(question[name])}
      onInput={(text) => onChange({ ...question, [name]: text }, { is_typing: true })}
      {...(placeholder !== undefined && { placeholder })}
      {...(hint !== undefined && { hint })}
    />
  )
}

type QuestionFieldsProps = { readonly question: SurveyMembers; readonly onChange: ChangeQuestion }

/** The fields that a question of its type has. */
function TypeFields({ question, onChange }: QuestionFieldsProps): VNode | null {
  switch (question['type']) {
    case 'rating':
      return <RatingFields question={question} onChange={onChange} />
    case 'single_choice':
    case 'multiple_choice':
      return <ChoiceFields question={question} onChange={onChange} />
    case 'link':
      return (
        <MemberField
          name="link"
          label="Address"
          placeholder="https://example.com"
          hint="An https or mailto address, opened by the button."
          question={question}
          onChange={onChange}
        />
      )
    default:
      return null
  }
}

const DISPLAYS = [
  { value: 'number', text: 'Numbers' },
  { value: 'emoji', text: 'Faces' },
]

/** The scales that the SDK draws, by display. */
const SCALES: Readonly<Record<string, readonly (readonly [scale: number, text: string])[]>> = {
  number: [
    [5, '1 to 5'],
    [7, '1 to 7'],
    [10, '0 to 10 (NPS)'],
  ],
  emoji: [
    [2, 'Thumbs up and down'],
    [3, '3 faces'],
    [5, '5 faces'],
  ],
}

function RatingFields({ question, onChange }: QuestionFieldsProps): VNode {
  const display = textOf(question['display']) || 'number'
  const scale = question['scale'] ?? 5
  const scales = (SCALES[display] ?? []).map(([value, text]) => ({ value: String(value), text }))
  const changeDisplay = (value: string): void => {
    const has_scale = SCALES[value]?.some(([one]) => one === scale)
    onChange({ ...question, display: value, scale: has_scale ? scale : 5 })
  }
  return (
    <div class={style.fields}>
      <SelectField
        label="Shown as"
        value={display}
        options={withStored(DISPLAYS, display)}
        onChange={changeDisplay}
      />
      <SelectField
        label="Scale"
        value={shownText(scale)}
        options={withStored(scales, shownText(scale))}
        onChange={(value) => onChange({ ...question, scale: Number(value) })}
      />
      <MemberField
        name="lowerBoundLabel"
        label="Lower end"
        question={question}
        onChange={onChange}
      />
      <MemberField
        name="upperBoundLabel"
        label="Upper end"
        question={question}
        onChange={onChange}
      />
    </div>
  )
}

function ChoiceFields({ question, onChange }: QuestionFieldsProps): VNode {
  const choices = listOf(question['choices']).map(textOf)
  return (
    <fieldset class={style.choices}>
      <legend>Choices</legend>
      {choices.map((choice, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- a choice is its text, which is being typed
        <div key={at}>
          <input
            class="field"
            aria-label={`Choice ${at + 1}`}
            value={choice}
            onInput={(event) =>
              onChange(
                { ...question, choices: choices.with(at, event.currentTarget.value) },
                { is_typing: true },
              )
            }
          />
          <IconButton
            icon="trash"
            label={`Remove choice ${at + 1}`}
            disabled={choices.length === 1}
            onClick={() => onChange(removeChoice(question, at))}
          />
        </div>
      ))}
      <Button icon="plus" onClick={() => onChange(addChoice(question))}>
        Add a choice
      </Button>
      <CheckField
        label="The last choice is open: people write their own"
        is_on={question['hasOpenChoice'] === true}
        onChange={(is_on) => onChange(withMember(question, 'hasOpenChoice', is_on || null))}
      />
      <CheckField
        label="In random order"
        is_on={question['shuffleOptions'] === true}
        onChange={(is_on) => onChange(withMember(question, 'shuffleOptions', is_on || null))}
      />
    </fieldset>
  )
}

/** The fields that few questions need. */
function MoreFields({ question, onChange }: QuestionFieldsProps): VNode {
  const has_branches = (question['branching'] ?? null) !== null
  return (
    <details class={style.more}>
      <summary>More</summary>
      <div class={edited.column}>
        <CheckField
          label="May be skipped"
          is_on={question['optional'] === true}
          onChange={(is_on) => onChange(withMember(question, 'optional', is_on || null))}
        />
        <div class={style.fields}>
          <MemberField
            name="description"
            label="Description"
            question={question}
            onChange={onChange}
          />
          <MemberField
            name="buttonText"
            label="Button"
            placeholder="Submit"
            question={question}
            onChange={onChange}
          />
        </div>
        {has_branches && (
          <p class={edited.hint}>
            It leads to other questions by its answer, as an API client has set. This is kept.
          </p>
        )}
      </div>
    </details>
  )
}
