/** Shows the refusal of a run: a button goes to its place in the text, others apply suggested names. */
import { useQuery } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import type { ApiError } from '../../../api/calls/call.ts'
import { findFaults, type HogQLFaults } from '../../../api/editor.ts'
import { Button } from '../../../parts/button.tsx'
import { ErrorNote, errorText, isWorthRetry } from '../../../parts/notes/error-note.tsx'
import { useProject } from '../../../state/project.tsx'
import type { EditorHandle } from './editor.tsx'
import { fixOf } from './fixes.ts'

type RefusalProps = {
  readonly error: ApiError
  /** The text of the editor. */
  readonly text: string
  readonly editor: EditorHandle | null
  readonly onRetry: () => void
}

/** Draws the server's words; places are those of the first fault of the whole text. */
export function Refusal({ error, text, editor, onRetry }: RefusalProps): VNode {
  const { id } = useProject()
  const is_of_text = error.status === 400 && text.trim() !== ''
  const faults = useQuery<HogQLFaults, ApiError>({
    queryKey: ['faults', id, text],
    queryFn: () => findFaults(id, text),
    enabled: is_of_text,
    retry: false,
  })
  const fault = is_of_text ? faults.data?.errors[0] : undefined
  const { start = null, end = null } = fault ?? {}
  const fix = fault === undefined ? null : fixOf(text, fault)
  if (start === null) {
    return (
      <ErrorNote message={errorText(error)} onRetry={isWorthRetry(error) ? onRetry : undefined} />
    )
  }
  const { line, column } = placeOf(text, start)
  return (
    <ErrorNote message={`Line ${line}, column ${column}: ${fault?.message ?? errorText(error)}`}>
      {fix !== null && (
        <Button onClick={() => editor?.replace(fix.from, fix.to, fix.name)}>Use {fix.name}</Button>
      )}
      <Button onClick={() => editor?.show(start, end ?? start)}>Show in the text</Button>
    </ErrorNote>
  )
}

function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
