/** A note on the graph: a new one with its day, or an existing one, which can be deleted. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type ChartAnnotation, createAnnotation, deleteAnnotation } from '../../api/insights.ts'
import { Button } from '../../parts/button.tsx'
import { inZone } from '../../parts/charts/chart-data.ts'
import { TextField } from '../../parts/fields/field.tsx'
import { Form } from '../../parts/fields/form.tsx'
import { formatMoment } from '../../parts/format.ts'
import { changeErrorText, ErrorNote } from '../../parts/notes/error-note.tsx'
import { Dialog } from '../../parts/overlays/dialog.tsx'
import { now } from '../../state/clock.ts'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { instantOf } from './views/zone.ts'

type NoteDialogProps = {
  /** Null for a new one. */
  readonly annotation: ChartAnnotation | null
  readonly onClose: () => void
}

/** Draws the note. */
export function NoteDialog({ annotation, onClose }: NoteDialogProps): VNode {
  const { id, timezone } = useProject()
  const may_edit = useMayEdit('annotation')
  const [content, setContent] = useState('')
  const [day, setDay] = useState(inZone(now(), timezone).toISOString().slice(0, 10))
  const [error, setError] = useState<unknown>(null)
  if (annotation !== null) {
    const remove = (): Promise<void> => deleteAnnotation(id, annotation.id).then(onClose, setError)
    const foot = may_edit && (
      <Button look="danger" icon="trash" onClick={() => void remove()}>
        Delete
      </Button>
    )
    return (
      <Dialog title="Note" onClose={onClose} foot={foot}>
        <p>{annotation.content}</p>
        <small>{formatMoment(annotation.date_marker ?? '', timezone)}</small>
        {error !== null && <ErrorNote message={changeErrorText(error)} />}
      </Dialog>
    )
  }
  return (
    <Dialog title="Add a note" onClose={onClose}>
      <Form
        action="Add note"
        fields={[]}
        is_disabled={content.trim() === '' || day === ''}
        onSubmit={async () => {
          const date_marker = instantOf(day, timezone).toISOString()
          await createAnnotation(id, { content, date_marker })
          onClose()
        }}
      >
        {() => (
          <>
            <TextField
              label="What happened"
              value={content}
              onInput={setContent}
              maxLength={400}
              required
              placeholder="New pricing page"
            />
            <TextField label="On" type="date" value={day} onInput={setDay} required />
          </>
        )}
      </Form>
    </Dialog>
  )
}
