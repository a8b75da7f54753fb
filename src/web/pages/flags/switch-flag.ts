/** Changes of a flag that apply at once, with the way back. */
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
  if (!(await applyChange(() => changeFlag(project_id, id, { active: is_on })))) return
  const undo = (): void => void applyChange(() => changeFlag(project_id, id, { active }))
  showToast({ text: `${key} is ${is_on ? 'on' : 'off'}`, action: { text: 'Undo', run: undo } })
}

/** Whether the server has made the change; a toast says why not. */
export async function applyChange(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (error) {
    showToast({ text: changeErrorText(error) })
    return false
  }
}
