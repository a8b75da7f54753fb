/** Changes that apply at once, outside of a form. */
import { changeErrorText } from '../notes/error-note.tsx'
import { showToast } from './toast.tsx'

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
