/** Short messages at the edge of the page: something was done, perhaps with a way to undo it. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, IconButton } from '../button.tsx'
import style from './toast.module.css'

type ToastMessage = {
  readonly text: string
  readonly action?: { readonly text: string; readonly run: () => void }
  /** Stays until it is closed or taken away: for states, such as a server that is gone. */
  readonly is_lasting?: boolean
}

const TOAST_MS = 6000
const TOASTS_MAX = 3

type ShownToast = ToastMessage & { readonly id: number }

let toasts: readonly ShownToast[] = []
let last_id = 0
let redraw: () => void = () => undefined

/** Shows a message; returns a function that takes it away. */
export function showToast(message: ToastMessage): () => void {
  last_id += 1
  const id = last_id
  toasts = [...toasts, { ...message, id }].slice(-TOASTS_MAX)
  redraw()
  return () => closeToast(id)
}

function closeToast(id: number): void {
  toasts = toasts.filter((one) => one.id !== id)
  redraw()
}

/** Draws the messages; once, around everything. */
export function Toasts(): VNode {
  const [, setCount] = useState(0)
  useEffect(() => {
    redraw = () => setCount((count) => count + 1)
    redraw()
    return () => {
      redraw = () => undefined
    }
  }, [])
  return (
    <div class={style.toasts} role="status" aria-live="polite">
      {toasts.map((toast) => (
        <Toast key={toast.id} toast={toast} />
      ))}
    </div>
  )
}

function Toast({ toast }: { readonly toast: ShownToast }): VNode {
  const { id, text, action, is_lasting } = toast
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (is_lasting) return undefined
    const close = (): void => {
      // A toast under the pointer or with the focus stays: its button is about to be pressed.
      if (box.current?.matches(':hover, :focus-within')) timer = setTimeout(close, 1000)
      else closeToast(id)
    }
    let timer = setTimeout(close, TOAST_MS)
    return () => clearTimeout(timer)
  }, [id, is_lasting])
  const run = (): void => {
    closeToast(id)
    action?.run()
  }
  return (
    <div ref={box} class={style.toast}>
      <p>{text}</p>
      {action && <Button onClick={run}>{action.text}</Button>}
      <IconButton icon="close" label="Close message" onClick={() => closeToast(id)} />
    </div>
  )
}
