/** Surveys: the list, a new one at `/surveys/new`, one at `/surveys/:id`. */
import type { VNode } from 'preact'
import { Link, useRoute } from 'wouter-preact'
import { useResponseCounts, useSurveys } from '../../api/targeting/surveys.ts'
import type { ShownSurvey } from '../../api/types/shown-survey.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { formatNumber } from '../../parts/format.ts'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { kindText } from './kinds.ts'
import { NewSurvey, SurveyView } from './survey.tsx'
import { SurveyBadge } from './survey-badge.tsx'
import { listOf, membersOf, textOf } from './survey-draft.ts'
import style from './surveys.module.css'

/** The page. */
export function SurveysPage(): VNode {
  const [is_one, params] = useRoute('/surveys/:id')
  if (!is_one) return <SurveyList />
  return params.id === 'new' ? <NewSurvey /> : <SurveyView key={params.id} id={params.id} />
}

const SHOWN = [
  { value: '', text: 'Current' },
  { value: 'archived', text: 'Archived' },
] as const

function SurveyList(): VNode {
  const [search] = useParam('search')
  const [show, setShow] = useParam('show')
  const shown = SHOWN.find(({ value }) => value === show)?.value ?? ''
  const may_edit = useMayEdit('survey')
  const list = useSurveys(search, shown === 'archived')
  const counts = useResponseCounts().data
  return (
    <>
      <PageHead title="Surveys">
        {may_edit && (
          <ButtonLink href="/surveys/new" look="main" icon="plus">
            New survey
          </ButtonLink>
        )}
      </PageHead>
      <div class={edited.controls}>
        <Choice label="Show" options={SHOWN} value={shown} onChange={setShow} />
        <SearchField label="Search name or description" />
      </div>
      <ItemList list={list} empty={<NoSurveys is_searched={search !== '' || shown !== ''} />}>
        {(survey) => (
          <SurveyItem
            key={survey.id}
            survey={survey}
            count={counts === undefined ? null : (counts[survey.id] ?? 0)}
          />
        )}
      </ItemList>
    </>
  )
}

type SurveyItemProps = {
  readonly survey: ShownSurvey
  /** Of its responses; null until it is known. */
  readonly count: number | null
}

function SurveyItem({ survey, count }: SurveyItemProps): VNode {
  const { id, name, description, type, start_date, created_at } = survey
  const [first] = listOf(survey.questions)
  const about = description || textOf(membersOf(first)['question'])
  return (
    <li>
      <span class={edited.what}>
        <Link href={`/surveys/${id}`}>{name}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.kind}>
        <SurveyBadge survey={survey} />
        <span>{kindText(type)}</span>
        <span class={style.count}>
          {formatNumber(count)} {count === 1 ? 'response' : 'responses'}
        </span>
      </span>
      <span class={edited.when}>
        <Ago iso={start_date ?? created_at} />
      </span>
    </li>
  )
}

function NoSurveys({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No surveys found" icon="search" />
  return (
    <EmptyNote title="No surveys yet" icon="surveys">
      <p>
        A survey asks the people who use your product, on the page where they are. Their answers are
        counted here.
      </p>
    </EmptyNote>
  )
}
