/** Files handed to the browser's downloads. */
import type { AnyQuery } from '../../api/calls/ask.ts'
import { beginExport, type RowFileFormat } from '../../api/exports.ts'
import { BASE_PATH } from '../../state/base-path.ts'
import { errorText } from '../notes/error-note.tsx'
import { showToast } from '../overlays/toast.tsx'

/** Saves a file that the page made itself. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content)
  follow(name, address)
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

/**
 * Saves all rows of a query. The browser reads them from the server onto the disk: the page only shows that they are
 * under way, with a button that cancels, or the error.
 */
export async function saveRows(
  project_id: number,
  query: AnyQuery,
  { name, file }: { readonly name: string; readonly file: RowFileFormat },
): Promise<void> {
  const cancel = new AbortController()
  const close = showToast({
    text: `${file.text} is on its way…`,
    is_lasting: true,
    action: { text: 'Cancel', run: () => cancel.abort() },
  })
  try {
    const path = await beginExport(project_id, query, {
      format: file.format,
      signal: cancel.signal,
    })
    follow(`${name}.${file.ending}`, BASE_PATH + path)
  } catch (error) {
    if (!cancel.signal.aborted) showToast({ text: errorText(error) })
  } finally {
    close()
  }
}

function follow(name: string, address: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
