/** The note in place of a list or a chart without data. */
import type { ComponentChildren, VNode } from 'preact'
import { Icon, type IconName } from '../icon.tsx'
import style from './notes.module.css'

type EmptyNoteProps = {
  readonly title: string
  readonly icon?: IconName
  /** Advice on what to do next: a sentence, a button. */
  readonly children?: ComponentChildren
}

/** Draws the note: nothing here, and what to do next. */
export function EmptyNote({ title, icon = 'empty', children }: EmptyNoteProps): VNode {
  return (
    <div class={style.empty}>
      <Icon name={icon} size={28} />
      <p class={style.title}>{title}</p>
      {children}
    </div>
  )
}
