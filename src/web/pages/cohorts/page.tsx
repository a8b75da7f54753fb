/** Cohorts: the list, a new one at `/cohorts/new`, one at `/cohorts/:id`. */
import type { VNode } from 'preact'
import { Link, useRoute } from 'wouter-preact'
import { useCohortList } from '../../api/targeting/cohorts.ts'
import type { ShownCohort } from '../../api/types/shown-cohort.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
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

function CohortList(): VNode {
  const [search] = useParam('search')
  const may_edit = useMayEdit('cohort')
  const list = useCohortList(search)
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
        <SearchField label="Search name" />
      </div>
      <ItemList list={list} empty={<NoCohorts is_searched={search !== ''} />}>
        {(cohort) => <CohortItem key={cohort.id} cohort={cohort} />}
      </ItemList>
    </>
  )
}

function CohortItem({ cohort }: { readonly cohort: ShownCohort }): VNode {
  const { id, name, description, count, is_calculating, is_static } = cohort
  const { last_calculation, created_at } = cohort
  const about = description || draftText(draftOf(cohort))
  return (
    <li>
      <span class={style.what}>
        <Link href={`/cohorts/${id}`}>{name || `Cohort ${id}`}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.release}>
        {count === null && is_calculating ? 'calculating…' : personsText(count)}
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
