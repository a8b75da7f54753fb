/** A secret that the server shows only once: a key, a link. */
import type { VNode } from 'preact'
import { Button } from '../button.tsx'
import { CopyButton } from '../copy.tsx'
import { Dialog } from '../overlays/dialog.tsx'
import style from './shown-once.module.css'

type ShownOnceProps = {
  readonly title: string
  readonly text: string
  readonly hint: string
  readonly onClose: () => void
}

/** Draws the dialog with the secret and a button that copies it. */
export function ShownOnce({ title, text, hint, onClose }: ShownOnceProps): VNode {
  const foot = (
    <>
      <Button onClick={onClose}>Done</Button>
      <CopyButton text={text} label="Copy" is_named look="main" />
    </>
  )
  return (
    <Dialog title={title} onClose={onClose} foot={foot}>
      <p>{hint}</p>
      <code class={style.secret}>{text}</code>
    </Dialog>
  )
}
