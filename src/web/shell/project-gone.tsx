/** Shows over a page that its project is gone; its texts can still be read and copied. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ButtonLink } from '../parts/button.tsx'
import { Dialog } from '../parts/overlays/dialog.tsx'

/** Draws the dialog, until it is closed. */
export function ProjectGone({ name }: { readonly name: string }): VNode | null {
  const [is_closed, setClosed] = useState(false)
  if (is_closed) return null
  return (
    <Dialog title="This project is gone" onClose={() => setClosed(true)}>
      <p>
        <strong>{name}</strong> was deleted, or you no longer have access to it. Close this message
        to copy what is still on the page.
      </p>
      <ButtonLink look="main" href="~/">
        Go to another project
      </ButtonLink>
    </Dialog>
  )
}
