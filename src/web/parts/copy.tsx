/** Copying a text. Over plain http browsers give no access to the clipboard: then an older way, and last a selected field. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button, type ButtonLook, IconButton } from './button.tsx'
import { Dialog } from './overlays/dialog.tsx'

/** Copies a text; returns whether it is in the clipboard now. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (isSecureContext) {
      await navigator.clipboard.writeText(text)
      return true
    }
  } catch {
    // Not allowed: the older way may be.
  }
  return copyBySelection(text)
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.setAttribute('readonly', '')
  field.style.cssText = 'position:fixed;top:0;opacity:0'
  // Within an open dialog, since everything outside of it is inert.
  const parent = document.activeElement?.closest('dialog') ?? document.body
  const before = document.activeElement
  parent.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    field.remove()
    if (before instanceof HTMLElement) before.focus()
  }
}

type CopyButtonProps = {
  /** The text to copy; a function makes it when the button is pressed. */
  readonly text: string | (() => string)
  /** The label of the button: `Copy link`. */
  readonly label: string
  /** Without it the button is an icon. */
  readonly is_named?: boolean
  readonly look?: ButtonLook
}

const COPIED_MS = 2000

/** A button that copies and says so; when nothing can be copied it shows the text, selected. */
export function CopyButton({ text, label, is_named = false, look }: CopyButtonProps): VNode {
  const [is_copied, setCopied] = useState(false)
  const [shown_text, setShownText] = useState<string | null>(null)
  useEffect(() => {
    if (!is_copied) return undefined
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [is_copied])
  const copy = async (): Promise<void> => {
    const value = typeof text === 'string' ? text : text()
    if (await copyText(value)) setCopied(true)
    else setShownText(value)
  }
  const icon = is_copied ? 'check' : 'copy'
  const button_label = is_copied ? 'Copied' : label
  return (
    <>
      {is_named ? (
        <Button icon={icon} look={look ?? 'plain'} onClick={() => void copy()}>
          {button_label}
        </Button>
      ) : (
        <IconButton
          icon={icon}
          label={button_label}
          look={look ?? 'quiet'}
          onClick={() => void copy()}
        />
      )}
      <span role="status" class="unseen">
        {is_copied && 'Copied'}
      </span>
      {shown_text !== null && (
        <Dialog title={label} onClose={() => setShownText(null)}>
          <p>This browser does not let the page copy. Press Ctrl+C or ⌘C.</p>
          <SelectedText text={shown_text} />
        </Dialog>
      )}
    </>
  )
}

function SelectedText({ text }: { readonly text: string }): VNode {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    field.current?.focus()
    field.current?.select()
  }, [])
  return (
    <textarea ref={field} class="field" rows={6} readOnly value={text} aria-label="Text to copy" />
  )
}
