/** Saved queries: insights whose query is a text. */
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ApiError, call } from '../../api/calls/call.ts'
import { queryClient } from '../../api/calls/client.ts'
import { changeInsight, createInsight, type StoredInsight } from '../../api/insights.ts'
import { Button } from '../../parts/button.tsx'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { formatMoment } from '../../parts/format.ts'
import { errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useKeys } from '../../state/keys.ts'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { isObject } from '../explore/explore-query.ts'
import { type HogQLNode, readNode } from './node.ts'
import { displayOf, type ResultView, viewOfDisplay } from './results/views.ts'
import style from './sql.module.css'
import type { SavedSql } from './tabs.ts'

const SAVED_MAX = 200

function useSavedQueries(): UseQueryResult<readonly StoredInsight[], ApiError> {
  const { id } = useProject()
  return useQuery<readonly StoredInsight[], ApiError>({
    queryKey: ['insights', id, 'sql'],
    queryFn: async ({ signal }) => {
      const query = { insight: 'SQL', saved: true, basic: true, limit: SAVED_MAX }
      type Page = { readonly results: readonly StoredInsight[] }
      return (await call<Page>('GET', `/api/projects/${id}/insights/`, { query, signal })).results
    },
    staleTime: 0,
  })
}

const wrapNode = (source: HogQLNode, view: ResultView): object => ({
  kind: 'DataVisualizationNode',
  source,
  display: displayOf(view),
})

/** A saved query as a tab shows it. */
type OpenedQuery = {
  readonly node: HogQLNode
  readonly view: ResultView
  readonly saved: SavedSql
}

function readSaved({ id, short_id, name, query }: StoredInsight): OpenedQuery | null {
  const node = readNode(query)
  if (node === null) return null
  const display = isObject(query) ? query['display'] : null
  const saved = { id, short_id, name: name || 'Query' }
  return { node, view: viewOfDisplay(display), saved }
}

type SavedQueriesProps = {
  readonly node: HogQLNode
  readonly view: ResultView
  /** The insight that the tab was opened from. */
  readonly saved: SavedSql | null
  readonly onSaved: (saved: SavedSql) => void
  readonly onOpen: (opened: OpenedQuery) => void
}

/** The buttons Save and Saved queries, and their dialogs. */
export function SavedQueries({ node, view, saved, onSaved, onOpen }: SavedQueriesProps): VNode {
  const { id } = useProject()
  const may_edit = useMayEdit('insight')
  const [opened, setOpened] = useState<'list' | 'save' | null>(null)
  const close = (): void => setOpened(null)
  const done = (insight: StoredInsight): void => {
    const { id: insight_id, short_id, name } = insight
    onSaved({ id: insight_id, short_id, name: name || 'Query' })
    void queryClient.invalidateQueries({ queryKey: ['insights', id] })
    showToast({ text: 'Saved' })
    close()
  }
  const save = async (): Promise<void> => {
    if (node.query.trim() === '' || !may_edit) return
    if (saved === null) return setOpened('save')
    try {
      done(await changeInsight(id, saved, { query: wrapNode(node, view) }))
    } catch (error) {
      showToast({ text: errorText(error) })
    }
  }
  useKeys([{ keys: 's', text: 'Save', group: 'SQL', run: () => void save() }])
  return (
    <>
      <Button look="quiet" onClick={() => setOpened('list')}>
        Saved queries
      </Button>
      {may_edit && (
        <Button onClick={() => void save()} disabled={node.query.trim() === ''}>
          Save
        </Button>
      )}
      {opened === 'list' && (
        <SavedList
          onClose={close}
          onOpen={(one) => {
            close()
            onOpen(one)
          }}
        />
      )}
      {opened === 'save' && (
        <SaveDialog
          save={async (name) =>
            done(await createInsight(id, { name, query: wrapNode(node, view) }))
          }
          onClose={close}
        />
      )}
    </>
  )
}

type SavedListProps = {
  readonly onClose: () => void
  readonly onOpen: (opened: OpenedQuery) => void
}

function SavedList({ onClose, onOpen }: SavedListProps): VNode {
  const { timezone } = useProject()
  return (
    <Dialog title="Saved queries" onClose={onClose}>
      <Loaded
        of={useSavedQueries()}
        isEmpty={(insights) => insights.length === 0}
        empty={<p>Save keeps a query here, for everyone in the project and for boards.</p>}
      >
        {(insights) => (
          <ul class={style.saved}>
            {insights.flatMap((insight) => {
              const one = readSaved(insight)
              if (one === null) return []
              return [
                <li key={insight.short_id}>
                  <button type="button" onClick={() => onOpen(one)}>
                    <strong>{one.saved.name}</strong>
                    <span>{formatMoment(insight.last_modified_at, timezone)}</span>
                    <code>{one.node.query}</code>
                  </button>
                </li>,
              ]
            })}
          </ul>
        )}
      </Loaded>
    </Dialog>
  )
}

type SaveDialogProps = {
  /** Throws ApiError. */
  readonly save: (name: string) => Promise<void>
  readonly onClose: () => void
}

function SaveDialog({ save, onClose }: SaveDialogProps): VNode {
  const [name, setName] = useState('')
  return (
    <Dialog title="Save query" onClose={onClose}>
      <Form
        action="Save"
        fields={['name']}
        is_disabled={name.trim() === ''}
        onSubmit={() => save(name.trim())}
      >
        {(error) => (
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            maxLength={400}
            error={fieldError(error, 'name')}
          />
        )}
      </Form>
    </Dialog>
  )
}
