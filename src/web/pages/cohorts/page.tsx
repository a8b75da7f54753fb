/** Cohorts: the list, a new one at `/cohorts/new`, one at `/cohorts/:id`. */
import type { VNode } from 'preact'
import { Link, useRoute } from 'wouter-preact'
import { useCohortList } from '../../api/cohorts.ts'
import type { ShownCohort } from '../../api/types/shown-cohort.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { SEARCH_LENGTH_MAX, useParam } from '../../state/url.ts'
import { CohortEditor, CohortView, personsText } from './cohort.tsx'
import { draftOf, draftText } from './cohort-draft.ts'

/** The page. */
export function CohortsPage(): VNode {
  const [is_one, params] = useRoute('/cohorts/:id')
  if (!is_one) return <CohortList />
  return params.id === 'new' ? (
    <CohortEditor cohort={null} />
  ) : (
    <CohortView key={params.id} id={params.id} />
  )
}

const SKELETON_PX = 240

function CohortList(): VNode {
  const [search, setSearch] = useParam('search')
  const may_edit = useMayEdit('cohort')
  const list = useCohortList(search)
  const cohorts = list.data?.pages.flatMap(({ results }) => results) ?? []
  return (
    <>
      <PageHead title="Cohorts">
        {may_edit && (
          <ButtonLink href="/cohorts/new" look="main" icon="plus">
            New cohort
          </ButtonLink>
        )}
      </PageHead>
      <div class={style.controls}>
        <input
          type="search"
          class={`field ${style.search}`}
          placeholder="Search name"
          aria-label="Search name"
          maxLength={SEARCH_LENGTH_MAX}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value, { is_typing: true })}
        />
      </div>
      <Loaded
        of={list}
        skeleton={<SkeletonBlock height={SKELETON_PX} />}
        isEmpty={() => cohorts.length === 0}
        empty={<NoCohorts is_searched={search !== ''} />}
      >
        {() => (
          <ul class={style.list}>
            {cohorts.map((cohort) => (
              <CohortItem key={cohort.id} cohort={cohort} />
            ))}
          </ul>
        )}
      </Loaded>
      <ShowMore list={list} text="Show more" />
    </>
  )
}

function CohortItem({ cohort }: { readonly cohort: ShownCohort }): VNode {
  const { id, name, description, count, is_static, last_calculation, created_at } = cohort
  const about = description || draftText(draftOf(cohort))
  return (
    <li>
      <span class={style.what}>
        <Link href={`/cohorts/${id}`}>{name || `Cohort ${id}`}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.release}>
        {personsText(count)}
        {is_static && ', a fixed list'}
      </span>
      <span class={style.when}>
        <Ago iso={last_calculation ?? created_at} />
      </span>
    </li>
  )
}

function NoCohorts({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No cohorts found" icon="search" />
  return (
    <EmptyNote title="No cohorts yet" icon="cohorts">
      <p>
        A cohort is a set of persons with a name: those who meet conditions, or a fixed list.
        Filters, breakdowns and flags can use it.
      </p>
    </EmptyNote>
  )
}
