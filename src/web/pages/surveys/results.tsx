/** The results of a survey: the counts of its events, the answers to each question, the responses. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../api/calls/ask.ts'
import { useArchivedResponses, useSurveyFigures } from '../../api/targeting/surveys.ts'
import type { ShownSurvey, SurveyEvent, SurveyFigures } from '../../api/types/shown-survey.ts'
import type { ClickedNumber } from '../../parts/answer/clicked-number.ts'
import { WhoDialog } from '../../parts/answer/who-dialog.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { formatNumber, formatPercent } from '../../parts/format.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import {
  ANSWERS_MAX,
  type AnswerCount,
  answeredOf,
  answersQuery,
  facesOf,
  personsQuery,
  readAnswers,
  scoreOf,
} from './answers.ts'
import { LatestTexts, ResponseList } from './responses.tsx'
import { listOf, membersOf, type SurveyMembers, stateOf, textOf } from './survey-draft.ts'
import style from './surveys.module.css'

type SurveyResultsProps = { readonly survey: ShownSurvey; readonly may_edit: boolean }

const FIGURES_PX = 112
const ANSWERS_PX = 160

const isNeverShown = ({ stats }: SurveyFigures): boolean =>
  Object.values(stats).every(({ total_count }) => total_count === 0)

/** Draws the results. */
export function ResultsView({ survey, may_edit }: SurveyResultsProps): VNode {
  const figures = useSurveyFigures(survey.id)
  // Asked for at once, not after the figures.
  const archived = useArchivedResponses(survey.id)
  const is_running = stateOf(survey) === 'running'
  const empty = (
    <EmptyNote title={is_running ? 'Not shown yet' : 'Never shown'} icon="surveys">
      {is_running && (
        <p>
          {survey.type === 'api'
            ? 'Your code sends the events “survey shown” and “survey sent” with the survey’s id.'
            : 'It shows on pages that load posthog-js, to those who meet its conditions.'}
        </p>
      )}
    </EmptyNote>
  )
  return (
    <Loaded
      of={figures}
      skeleton={<SkeletonBlock height={FIGURES_PX} />}
      isEmpty={isNeverShown}
      empty={empty}
    >
      {(answer) => (
        <div class={edited.column}>
          <Figures figures={answer} />
          {answer.stats['survey sent'].total_count > 0 && (
            <>
              <Questions
                survey={survey}
                responses={answer.stats['survey sent'].total_count}
                archived={archived}
              />
              <ResponseList survey={survey} may_edit={may_edit} />
            </>
          )}
        </div>
      )}
    </Loaded>
  )
}

const FIGURES: readonly {
  readonly event: SurveyEvent
  readonly text: string
  readonly rates?: readonly [
    of_times: keyof SurveyFigures['rates'],
    of_persons: keyof SurveyFigures['rates'],
  ]
}[] = [
  { event: 'survey shown', text: 'Shown' },
  {
    event: 'survey sent',
    text: 'Answered',
    rates: ['response_rate', 'unique_users_response_rate'],
  },
  {
    event: 'survey dismissed',
    text: 'Dismissed',
    rates: ['dismissal_rate', 'unique_users_dismissal_rate'],
  },
]

function Figures({ figures: { stats, rates } }: { readonly figures: SurveyFigures }): VNode {
  return (
    <dl class={style.figures}>
      {FIGURES.map(({ event, text, rates: names }) => {
        const { total_count, unique_persons } = stats[event]
        const shares = names?.map((name) => formatPercent(rates[name] / 100))
        return (
          <div key={event} class={edited.card}>
            <dt>{text}</dt>
            <dd>
              <b>{formatNumber(total_count)}</b>
              {shares && <span>{shares[0]} of times shown</span>}
            </dd>
            <dd class={edited.hint}>
              {formatNumber(unique_persons)} {unique_persons === 1 ? 'person' : 'persons'}
              {shares && `, ${shares[1]} of those asked`}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

type QuestionsProps = {
  readonly survey: ShownSurvey
  /** The number of responses to the survey. */
  readonly responses: number
  readonly archived: ReturnType<typeof useArchivedResponses>
}

function Questions({ survey, responses, archived }: QuestionsProps): VNode {
  const questions = listOf(survey.questions).map(membersOf)
  return (
    <Loaded of={archived} skeleton={<SkeletonBlock height={ANSWERS_PX} />}>
      {(uuids) => (
        <div class={style.results}>
          {questions.map((question, at) => (
            <section
              key={textOf(question['id']) || at}
              class={edited.card}
              aria-label={`Question ${at + 1}`}
            >
              <h2 dir="auto">{textOf(question['question'])}</h2>
              {question['type'] === 'open' ? (
                <LatestTexts survey={survey} question={question} at={at} />
              ) : (
                <Counts
                  survey={survey}
                  question={question}
                  at={at}
                  archived={uuids}
                  responses={responses}
                />
              )}
            </section>
          ))}
        </div>
      )}
    </Loaded>
  )
}

type CountsProps = Omit<QuestionsProps, 'archived'> & {
  readonly question: SurveyMembers
  readonly at: number
  readonly archived: readonly string[]
}

/** The number of responses by answer, and the persons behind each. */
function Counts({ survey, question, at, archived, responses }: CountsProps): VNode {
  const input = { survey_id: survey.id, question, at, archived }
  const of = useAnswer(answersQuery(input))
  const [clicked, setClicked] = useState<ClickedNumber | null>(null)
  const pick = ({ answer, count }: AnswerCount): void =>
    setClicked({
      title: answer,
      value: count,
      text: responsesText(count),
      source: personsQuery(input, answer),
    })
  return (
    <Loaded of={of} skeleton={<SkeletonBlock height={ANSWERS_PX} />}>
      {({ results }) => {
        const answers = readAnswers(question, results)
        // A response to several choices is counted at each of them; most do not follow a link.
        const is_of_all = question['type'] === 'multiple_choice' || question['type'] === 'link'
        const whole = is_of_all ? responses : answeredOf(results)
        return (
          <>
            <Score question={question} answers={answers} />
            <AnswerBars question={question} answers={answers} whole={whole} onPick={pick} />
            {results.length === ANSWERS_MAX && (
              <p class={edited.hint}>The {ANSWERS_MAX} most frequent answers.</p>
            )}
            {clicked !== null && (
              <WhoDialog
                clicked={clicked}
                onFilter={() => undefined}
                onClose={() => setClicked(null)}
              />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

const responsesText = (count: number): string =>
  `${formatNumber(count)} ${count === 1 ? 'response' : 'responses'}`

type ScoreProps = { readonly question: SurveyMembers; readonly answers: readonly AnswerCount[] }

function Score({ question, answers }: ScoreProps): VNode | null {
  const score = question['type'] === 'rating' ? scoreOf(question, answers) : null
  if (score === null) return null
  return (
    <p class={style.score}>
      <b>{formatNumber(score.value)}</b>
      <span>
        {score.name} of {responsesText(score.count)}
      </span>
    </p>
  )
}

type AnswerBarsProps = {
  readonly question: SurveyMembers
  readonly answers: readonly AnswerCount[]
  /** The number of which the shares are. */
  readonly whole: number
  readonly onPick: (answer: AnswerCount) => void
}

function AnswerBars({ question, answers, whole, onPick }: AnswerBarsProps): VNode {
  const faces = facesOf(question)
  const largest = Math.max(1, ...answers.map(({ count }) => count))
  return (
    <ul class={style.bars}>
      {answers.map((one) => (
        <li key={one.answer}>
          <button type="button" disabled={one.count === 0} onClick={() => onPick(one)}>
            <span class={style.name} title={one.answer}>
              {one.answer} {faces?.[Number(one.answer) - 1]}
            </span>
            <span class={style.track} aria-hidden="true">
              {one.count > 0 && <i style={{ width: `${(one.count / largest) * 100}%` }} />}
            </span>
            <span class={style.value}>
              {formatNumber(one.count)}{' '}
              <small>{formatPercent(whole === 0 ? 0 : one.count / whole, 0)}</small>
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}
