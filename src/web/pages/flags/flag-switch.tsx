/** The switch of a flag, which applies at once. */
import { notifyManager } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { changeFlag } from '../../api/targeting/flags.ts'
import type { ShownFlag } from '../../api/types/shown-flag.ts'
import { Toggle } from '../../parts/fields/choice.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'

type FlagSwitchProps = {
  readonly flag: ShownFlag
  readonly label: string
  /** Leaves the label to screen readers. */
  readonly is_bare?: boolean
  readonly is_disabled: boolean
}

/** Shows the wanted state until the server has answered; then the stored one, with a way back. */
export function FlagSwitch({ flag, label, is_bare = false, is_disabled }: FlagSwitchProps): VNode {
  const project = useProject()
  const [wanted, setWanted] = useState<boolean | null>(null)
  const { id, key, active } = flag
  const store = (is_on: boolean) => applyChange(() => changeFlag(project.id, id, { active: is_on }))
  const change = async (is_on: boolean): Promise<void> => {
    setWanted(is_on)
    const is_stored = await store(is_on)
    // After the stored flag, which observers get by the same schedule: before it the switch would jump back for a moment.
    notifyManager.schedule(() => setWanted(null))
    if (!is_stored) return
    const undo = { text: 'Undo', run: () => void store(active) }
    showToast({ text: `${key} is ${is_on ? 'on' : 'off'}`, action: undo })
  }
  return (
    <Toggle
      label={label}
      is_bare={is_bare}
      is_on={wanted ?? active}
      is_disabled={is_disabled}
      onChange={(is_on) => void change(is_on)}
    />
  )
}
