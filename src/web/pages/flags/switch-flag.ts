/** Switching a flag on or off, at once. */
import { changeFlag } from '../../api/flags.ts'
import type { ShownFlag } from '../../api/types/shown-flag.ts'
import { changeErrorText } from '../../parts/notes/error-note.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'

/** Stores the state, says so, and offers the way back. */
export async function switchFlag(
  project_id: number,
  { id, key, active }: ShownFlag,
  is_on: boolean,
): Promise<void> {
  try {
    await changeFlag(project_id, id, { active: is_on })
    const undo = (): void => void changeFlag(project_id, id, { active })
    showToast({ text: `${key} is ${is_on ? 'on' : 'off'}`, action: { text: 'Undo', run: undo } })
  } catch (error) {
    showToast({ text: changeErrorText(error) })
  }
}
