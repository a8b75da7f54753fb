/** The actions of a project: names for events that meet conditions. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { useActionList } from '../../api/action-editing.ts'
import type { ShownAction } from '../../api/types/shown-action.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { stepsText } from './action-draft.ts'
import { DataHead } from './data-head.tsx'
import { visibleName } from './definition-text.ts'

/** The list. */
export function ActionList(): VNode {
  const [search] = useParam('search')
  const may_edit = useMayEdit('action')
  const list = useActionList(search)
  return (
    <>
      <DataHead>
        {may_edit && (
          <ButtonLink href="/data/actions/new" look="main" icon="plus">
            New action
          </ButtonLink>
        )}
      </DataHead>
      <div class={style.controls}>
        <SearchField label="Search name" />
      </div>
      <ItemList list={list} empty={<NoActions is_searched={search !== ''} />}>
        {(action) => <ActionItem key={action.id} action={action} />}
      </ItemList>
    </>
  )
}

function ActionItem({ action }: { readonly action: ShownAction }): VNode {
  const { id, name, description, tags, steps, updated_at } = action
  const about = [description, tags.join(', ')].filter((text) => text !== '').join(' · ')
  return (
    <li>
      <span class={style.what}>
        <Link href={`/data/actions/${id}`}>{visibleName(name)}</Link>
        {about !== '' && <span>{about}</span>}
      </span>
      <span class={style.release}>{stepsText(steps) || 'No event'}</span>
      <span class={style.when}>
        <Ago iso={updated_at} />
      </span>
    </li>
  )
}

function NoActions({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No actions found" icon="search" />
  return (
    <EmptyNote title="No actions yet" icon="data">
      <p>
        An action is a name for events that meet conditions: a click on a button, a visit of some
        pages, any of several events. Charts use it like an event, for the past too.
      </p>
    </EmptyNote>
  )
}
