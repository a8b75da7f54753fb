/** The dialog that saves a new insight under a name. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { createInsight } from '../../api/insights.ts'
import { fieldError, TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import { derivedName } from './derived-name.ts'
import { type ExploreQuery, wrapQuery } from './explore-query.ts'

type NewInsightProps = { readonly query: ExploreQuery; readonly onClose: () => void }

/** Draws the form; without a name the insight gets the one that its query has. */
export function SaveDialog({ query, onClose }: NewInsightProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const save = async (): Promise<void> => {
    const saved = await createInsight(id, {
      name: name.trim() === '' ? derivedName(query) : name.trim(),
      query: wrapQuery(query),
    })
    navigate(`/insights/${saved.short_id}`)
    showToast({ text: 'Saved' })
  }
  return (
    <Dialog title="Save insight" onClose={onClose}>
      <Form action="Save" fields={['name']} onSubmit={save}>
        {(error) => (
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            placeholder={derivedName(query)}
            maxLength={400}
            error={fieldError(error, 'name')}
          />
        )}
      </Form>
    </Dialog>
  )
}
