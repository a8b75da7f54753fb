/** Feature flags: the list, a new one at `/flags/new`, one at `/flags/:id`. */
import type { VNode } from 'preact'
import { Link, useRoute } from 'wouter-preact'
import { type FlagsShown, useFlags } from '../../api/targeting/flags.ts'
import type { ShownFlag } from '../../api/types/shown-flag.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { FlagEditor, FlagView } from './flag.tsx'
import { draftOf } from './flag-draft.ts'
import { FlagSwitch } from './flag-switch.tsx'
import { releaseText } from './release-text.ts'

/** The page. */
export function FlagsPage(): VNode {
  const [is_one, params] = useRoute('/flags/:id')
  if (!is_one) return <FlagList />
  return params.id === 'new' ? (
    <FlagEditor flag={null} />
  ) : (
    <FlagView key={params.id} id={params.id} />
  )
}

const SHOWN = [
  { value: '', text: 'All' },
  { value: 'on', text: 'On' },
  { value: 'off', text: 'Off' },
  { value: 'archived', text: 'Archived' },
] as const satisfies readonly { readonly value: FlagsShown; readonly text: string }[]

function FlagList(): VNode {
  const [search] = useParam('search')
  const [show, setShow] = useParam('show')
  const shown = SHOWN.find(({ value }) => value === show)?.value ?? ''
  const may_edit = useMayEdit('feature_flag')
  const list = useFlags(search, shown)
  return (
    <>
      <PageHead title="Flags">
        {may_edit && (
          <ButtonLink href="/flags/new" look="main" icon="plus">
            New flag
          </ButtonLink>
        )}
      </PageHead>
      <div class={style.controls}>
        <Choice label="Show" options={SHOWN} value={shown} onChange={setShow} />
        <SearchField label="Search key or description" />
      </div>
      <ItemList list={list} empty={<NoFlags is_searched={search !== '' || shown !== ''} />}>
        {(flag) => <FlagItem key={flag.id} flag={flag} may_edit={may_edit && flag.can_edit} />}
      </ItemList>
    </>
  )
}

type FlagItemProps = { readonly flag: ShownFlag; readonly may_edit: boolean }

function FlagItem({ flag, may_edit }: FlagItemProps): VNode {
  return (
    <li>
      <FlagSwitch
        flag={flag}
        label={`${flag.key} is on`}
        is_bare
        is_disabled={!may_edit || flag.archived}
      />
      <span class={style.what}>
        <Link href={`/flags/${flag.id}`}>{flag.key}</Link>
        {flag.name !== '' && <span>{flag.name}</span>}
      </span>
      <span class={style.release}>{releaseText(draftOf(flag))}</span>
      <span class={style.when}>
        <Ago iso={flag.updated_at} />
      </span>
    </li>
  )
}

function NoFlags({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No flags found" icon="search" />
  return (
    <EmptyNote title="No flags yet" icon="flags">
      <p>
        A flag turns a part of your product on for some persons: for a share of them, or for those
        who meet a condition.
      </p>
    </EmptyNote>
  )
}
