/** The responses to a survey with the persons who gave them; one can be archived, so that no number counts it. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { archiveResponse, useResponses } from '../../api/targeting/surveys.ts'
import type { ShownResponse, ShownSurvey } from '../../api/types/shown-survey.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { Toggle } from '../../parts/fields/choice.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { showToast } from '../../parts/overlays/toast.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { useProject } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { listOf, membersOf, type SurveyMembers, textOf } from './survey-draft.ts'
import style from './surveys.module.css'

const LATEST = 5
const SKELETON_PX = 160

type LatestTextsProps = {
  readonly survey: ShownSurvey
  readonly question: SurveyMembers
  /** From 0. */
  readonly at: number
}

/** The latest texts that answer an open question. */
export function LatestTexts({ survey, question, at }: LatestTextsProps): VNode {
  const list = useResponses(survey.id, false)
  const responses = list.data?.pages.flatMap(({ results }) => results) ?? []
  const texts = responses.flatMap((response) => {
    const text = answerText(response.answers[keyOf(question, at)])
    return text === '' ? [] : [{ response, text }]
  })
  return (
    <Loaded
      of={list}
      skeleton={<SkeletonBlock height={SKELETON_PX} />}
      isEmpty={() => texts.length === 0}
      empty={<p class={edited.hint}>No answers among the latest responses.</p>}
    >
      {() => (
        <ul class={style.quotes}>
          {texts.slice(0, LATEST).map(({ response, text }) => (
            <li key={response.uuid}>
              <p dir="auto">{text}</p>
              <PersonLink response={response} />
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

type ResponseListProps = { readonly survey: ShownSurvey; readonly may_edit: boolean }

/** Lists all responses, the latest first. */
export function ResponseList({ survey, may_edit }: ResponseListProps): VNode {
  const [show, setShow] = useParam('responses')
  const has_archived = show === 'all'
  const list = useResponses(survey.id, has_archived)
  const responses = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <section class={edited.card} aria-labelledby="responses">
      <header class={style.head}>
        <h2 id="responses">Responses</h2>
        <Toggle
          label="With archived ones"
          is_on={has_archived}
          onChange={(is_on) => setShow(is_on ? 'all' : '')}
        />
      </header>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={SKELETON_PX} />}
        isEmpty={() => responses.length === 0}
        empty={<EmptyNote title="No responses" />}
      >
        {() => (
          <ul class={style.responses}>
            {responses.map((response) => (
              <ResponseItem
                key={response.uuid}
                survey={survey}
                response={response}
                may_edit={may_edit}
              />
            ))}
          </ul>
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </section>
  )
}

type ResponseItemProps = ResponseListProps & { readonly response: ShownResponse }

function ResponseItem({ survey, response, may_edit }: ResponseItemProps): VNode {
  const { id } = useProject()
  const { uuid, archived, answers } = response
  const store = (is_archived: boolean) =>
    applyChange(() => archiveResponse(id, survey.id, { uuid, is_archived }))
  const change = async (): Promise<void> => {
    if (!(await store(!archived))) return
    const undo = { text: 'Undo', run: () => void store(archived) }
    showToast({ text: archived ? 'Response counted again' : 'Response archived', action: undo })
  }
  const given = listOf(survey.questions).flatMap((question, at) => {
    const members = membersOf(question)
    const text = answerText(answers[keyOf(members, at)])
    return text === '' ? [] : [{ at, question: textOf(members['question']), text }]
  })
  return (
    <li class={archived ? style.faded : undefined}>
      <PersonLink response={response} />
      {given.length === 0 ? (
        <p class={edited.hint}>No answers to the present questions.</p>
      ) : (
        <dl>
          {given.map(({ at, question, text }) => (
            <div key={at}>
              <dt dir="auto">{question}</dt>
              <dd dir="auto">{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {may_edit && (
        <Button look="quiet" onClick={() => void change()}>
          {archived ? 'Count again' : 'Archive'}
        </Button>
      )}
    </li>
  )
}

function PersonLink({ response }: { readonly response: ShownResponse }): VNode {
  const { distinct_id, person_id, timestamp, archived } = response
  return (
    <span class={style.person}>
      <Link href={`/persons/${person_id}`}>{distinct_id}</Link>
      <span>
        <Ago iso={timestamp} />
        {archived && ', archived'}
      </span>
    </span>
  )
}

/** The name of a question among the answers of a response. */
const keyOf = (question: SurveyMembers, at: number): string => textOf(question['id']) || String(at)

/** An answer as text: choices with commas; '' without an answer. */
function answerText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(answerText).join(', ') : JSON.stringify(value)
}
