/** A command for the server's terminal, to be copied. */
import type { VNode } from 'preact'
import { CopyButton } from '../../parts/copy.tsx'
import style from './outer.module.css'

/** Draws the command with a button that copies it. */
export function CommandLine({ command }: { readonly command: string }): VNode {
  return (
    <span class={style.command}>
      <code>{command}</code>
      <CopyButton text={command} label="Copy command" />
    </span>
  )
}
