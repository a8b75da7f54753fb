/** The help: all keyboard shortcuts of the current page, and the switch that turns single letters off. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Toggle } from '../parts/fields/choice.tsx'
import { Dialog } from '../parts/overlays/dialog.tsx'
import { hasLetterKeys, keyNames, listKeys, setLetterKeys } from '../state/keys.ts'
import style from './help.module.css'

/** Draws the dialog. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const [is_on, setOn] = useState(hasLetterKeys())
  const groups = Map.groupBy(listKeys(), ({ group }) => group)
  const change = (next: boolean): void => {
    setLetterKeys(next)
    setOn(next)
  }
  return (
    <Dialog title="Keyboard shortcuts" is_wide onClose={onClose}>
      <Toggle label="Shortcuts of a single letter" is_on={is_on} onChange={change} />
      <div class={style.groups}>
        {[...groups].map(([group, bindings]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl class={style.keys}>
              {bindings.map(({ keys, text }) => (
                <div key={keys}>
                  <dt>{text}</dt>
                  <dd>
                    {keyNames(keys).map((name, index) => (
                      <kbd key={index}>{name}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
