/** A picture of a survey as the web SDK draws it, one question at a time. */
import type { JSX, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { facesOf, scaleOf } from './answers.ts'
import { type DraftedSurvey, listOf, type SurveyMembers, textOf } from './survey-draft.ts'
import style from './surveys.module.css'

/** Draws the question, and the buttons to the others and to the thanks. */
export function PreviewCard({ draft }: { readonly draft: DraftedSurvey }): VNode {
  const { questions, appearance } = draft
  const [wanted, setWanted] = useState(0)
  const has_thanks = appearance['displayThankYouMessage'] === true
  const has_tab = draft.type === 'widget' && (textOf(appearance['widgetType']) || 'tab') === 'tab'
  const count = questions.length + (has_thanks ? 1 : 0)
  const at = Math.max(0, Math.min(wanted, count - 1))
  const question = questions[at]
  const place = question === undefined ? 'Thanks' : `Question ${at + 1} of ${questions.length}`
  return (
    <section class={edited.card} aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      {draft.type === 'api' ? (
        <p class={edited.hint}>Your own code shows its questions.</p>
      ) : (
        <>
          {/* A picture: its buttons do nothing. */}
          <div class={`${style.stage} ${has_tab ? style.edge : ''}`} inert hidden={count === 0}>
            {count > 0 && (
              <div class={style.popover} style={coloursOf(appearance)} data-preview>
                {question === undefined ? (
                  <Thanks appearance={appearance} />
                ) : (
                  <Question question={question} appearance={appearance} />
                )}
              </div>
            )}
            {has_tab && <WidgetTab appearance={appearance} />}
          </div>
          <div class={style.steps}>
            <IconButton
              icon="back"
              label="Previous question"
              disabled={at === 0}
              onClick={() => setWanted(at - 1)}
            />
            <span aria-live="polite">{count === 0 ? 'No question' : place}</span>
            <IconButton
              icon="next"
              label="Next question"
              disabled={at >= count - 1}
              onClick={() => setWanted(at + 1)}
            />
          </div>
        </>
      )}
    </section>
  )
}

/** The colours of the SDK where the survey sets none. */
function coloursOf(appearance: SurveyMembers): JSX.CSSProperties {
  const background = textOf(appearance['backgroundColor']) || '#eeeded'
  const button = textOf(appearance['submitButtonColor']) || '#000000'
  return {
    '--survey-page': background,
    '--survey-text': textOf(appearance['textColor']) || textOn(background),
    '--survey-line': textOf(appearance['borderColor']) || '#c9c6c6',
    '--survey-button': button,
    '--survey-on-button': textOf(appearance['submitButtonTextColor']) || textOn(button),
    '--survey-field': textOf(appearance['inputBackground']) || '#ffffff',
    '--survey-ink': textOf(appearance['inputTextColor']) || BLACK,
    '--survey-hint': '#6b7280',
    '--survey-rating': textOf(appearance['ratingButtonColor']) || '#ffffff',
  }
}

/** The SDK's black. */
const BLACK = '#020617'

/** Black or white, whichever is easier to read on a colour as `#rrggbb`; black on any other. */
function textOn(colour: string): string {
  if (!/^#[\da-f]{6}$/i.test(colour)) return BLACK
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(colour.slice(at, at + 2), 16),
  )
  // The brightness by which the SDK chooses too.
  return Math.sqrt(0.299 * red ** 2 + 0.587 * green ** 2 + 0.114 * blue ** 2) > 127.5
    ? BLACK
    : '#ffffff'
}

type QuestionProps = { readonly question: SurveyMembers; readonly appearance: SurveyMembers }

function Question({ question, appearance }: QuestionProps): VNode {
  const button = textOf(question['buttonText']) || textOf(appearance['submitButtonText'])
  return (
    <>
      <b dir="auto">{plain(question['question']) || '…'}</b>
      {textOf(question['description']) !== '' && <p dir="auto">{plain(question['description'])}</p>}
      <Answer question={question} appearance={appearance} />
      <span class={style.submit}>{button || 'Submit'}</span>
    </>
  )
}

/** The text of what may have markup, which a page never draws as such. */
const plain = (value: unknown): string => textOf(value).replaceAll(/<[^<>]*>/g, '')

function Answer({ question, appearance }: QuestionProps): VNode | null {
  switch (question['type']) {
    case 'open':
      return (
        <span class={style.text}>{textOf(appearance['placeholder']) || 'Start typing...'}</span>
      )
    case 'rating':
      return <Rating question={question} />
    case 'single_choice':
    case 'multiple_choice': {
      const mark = question['type'] === 'single_choice' ? style.radio : style.box
      return (
        <ul class={style.options}>
          {listOf(question['choices']).map((choice, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- a choice is its text, which is being typed
            <li key={at}>
              <i class={mark} />
              <span dir="auto">{textOf(choice)}</span>
            </li>
          ))}
        </ul>
      )
    }
    default:
      return null
  }
}

function Rating({ question }: { readonly question: SurveyMembers }): VNode {
  const faces = facesOf(question)
  const marks = faces ?? scaleOf(question)
  return (
    <div>
      <div class={faces === undefined ? style.numbers : style.faces}>
        {marks.map((mark) => (
          <span key={mark}>{mark}</span>
        ))}
      </div>
      <div class={style.ends}>
        <span dir="auto">{plain(question['lowerBoundLabel'])}</span>
        <span dir="auto">{plain(question['upperBoundLabel'])}</span>
      </div>
    </div>
  )
}

function Thanks({ appearance }: { readonly appearance: SurveyMembers }): VNode {
  const header = plain(appearance['thankYouMessageHeader']) || 'Thank you!'
  return (
    <>
      <b dir="auto">{header}</b>
      <p dir="auto">{plain(appearance['thankYouMessageDescription'])}</p>
      <span class={style.submit}>
        {textOf(appearance['thankYouMessageCloseButtonText']) || 'Close'}
      </span>
    </>
  )
}

/** The button at the edge of the page that opens the survey. */
function WidgetTab({ appearance }: { readonly appearance: SurveyMembers }): VNode {
  const colour = textOf(appearance['widgetColor']) || '#000000'
  return (
    <span class={style.tab} style={{ backgroundColor: colour, color: textOn(colour) }}>
      {textOf(appearance['widgetLabel']) || 'Feedback'}
    </span>
  )
}
