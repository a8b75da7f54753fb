/** Saving: a new insight under a name, or the changes of an existing one. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { changeInsight, type StoredInsight } from '../../api/insights.ts'
import { lazyPage } from '../../lazy-page.tsx'
import { Button } from '../../parts/button.tsx'
import { isEqual } from '../../parts/is-equal.ts'
import { changeErrorText, ErrorNote, isWorthRetry } from '../../parts/notes/error-note.tsx'
import { Menu } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useKeys } from '../../state/keys.ts'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { derivedName } from './derived-name.ts'
import { type ExploreQuery, wrapQuery } from './explore-query.ts'
import style from './page.module.css'

/** Loaded at first use: a page's first load has a limit of bytes. */
const actions = () => import('../boards/insight-actions.tsx')
const AddToBoard = lazyPage(() => actions().then((all) => all.AddToBoard), { is_dialog: true })
const RenameInsight = lazyPage(() => actions().then((all) => all.RenameInsight), {
  is_dialog: true,
})

const SaveDialog = lazyPage(() => import('./save-dialog.tsx').then((all) => all.SaveDialog), {
  is_dialog: true,
})

/** The button that saves a new insight, and its dialog. */
export function SaveNew({ query }: { readonly query: ExploreQuery }): VNode | null {
  const may_edit = useMayEdit('insight')
  const [is_open, setOpen] = useState(false)
  const open = (): void => setOpen(may_edit)
  useKeys([{ keys: 's', text: 'Save', group: 'Explore', run: open }])
  if (!may_edit) return null
  return (
    <>
      <Button look="main" onClick={open}>
        Save
      </Button>
      {is_open && <SaveDialog query={query} onClose={() => setOpen(false)} />}
    </>
  )
}

type SavedHeadProps = {
  readonly insight: StoredInsight
  /** Null for an insight that Explore cannot edit. */
  readonly stored: ExploreQuery | null
  readonly query: ExploreQuery | null
}

/** The head of a saved insight: its name, and Save and Revert once something is changed. */
export function SavedHead({ insight, stored, query }: SavedHeadProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [error, setError] = useState<unknown>(null)
  const is_changed = query !== null && !isEqual(query, stored)
  const can_save = useMayEdit('insight') && is_changed
  const revert = (): void => navigate(`/insights/${insight.short_id}`)
  const latest = useRef(query)
  latest.current = query
  const save = async (): Promise<void> => {
    if (query === null) return
    try {
      await changeInsight(id, insight, { query: wrapQuery(query, insight.query) })
      setError(null)
      // Changes that were made while the server stored it stay.
      if (isEqual(latest.current, query)) revert()
      showToast({ text: 'Saved' })
    } catch (failure) {
      setError(failure)
    }
  }
  const run = (): void => {
    if (can_save) void save()
  }
  useKeys([{ keys: 's', text: 'Save', group: 'Explore', run }])
  const name = insight.name || insight.derived_name || (stored && derivedName(stored)) || 'Insight'
  return (
    <>
      <PageHead title={name} aside={is_changed && <span class={style.changed}>Changed</span>}>
        {is_changed && <Button onClick={revert}>Revert</Button>}
        {can_save && (
          <Button look="main" onClick={() => void save()}>
            Save
          </Button>
        )}
        <InsightMenu insight={insight} />
      </PageHead>
      {error !== null && (
        <div class={style.refused}>
          <ErrorNote
            message={changeErrorText(error)}
            onRetry={isWorthRetry(error) ? () => void save() : undefined}
          />
        </div>
      )}
    </>
  )
}

function InsightMenu({ insight }: { readonly insight: StoredInsight }): VNode | null {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [dialog, setDialog] = useState<'add' | 'rename' | null>(null)
  const may_add = useMayEdit('dashboard')
  if (!useMayEdit('insight')) return null
  const Opened = dialog === 'add' ? AddToBoard : RenameInsight
  const remove = async (): Promise<void> => {
    const { deleteInsight } = await actions()
    // First, since the page of a deleted insight would ask for it once more.
    navigate('/boards?show=insights')
    await deleteInsight(id, insight)
  }
  return (
    <>
      <Menu
        label="Actions of the insight"
        items={[
          ...(may_add
            ? [
                {
                  text: 'Add to a board',
                  icon: 'boards',
                  onSelect: () => setDialog('add'),
                } as const,
              ]
            : []),
          { text: 'Rename', onSelect: () => setDialog('rename') },
          null,
          { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => void remove() },
        ]}
      />
      {dialog !== null && <Opened insight={insight} onClose={() => setDialog(null)} />}
    </>
  )
}
