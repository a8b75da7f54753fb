/** A box that scrolls sideways what is wider than itself. */
import type { ComponentChildren, RefObject, VNode } from 'preact'
import style from './side-scroll.module.css'

type SideScrollProps = {
  /** The label for screen readers. */
  readonly label: string
  readonly box?: RefObject<HTMLDivElement>
  readonly children: ComponentChildren
}

/** Draws the box; its right edge fades while there is more. */
export function SideScroll({ label, box, children }: SideScrollProps): VNode {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
    <div {...(box && { ref: box })} class={style.box} role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
