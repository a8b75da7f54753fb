/** Actions on a whole experiment: its next step as a button, the others in a menu. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import {
  changeExperiment,
  type ExperimentMove,
  makeExposureCohort,
  moveExperiment,
  requireUnchanged,
} from '../../api/targeting/experiments.ts'
import { changeFlag } from '../../api/targeting/flags.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { Button } from '../../parts/button.tsx'
import { applyChange } from '../../parts/overlays/apply-change.ts'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { Menu, type MenuItem } from '../../parts/overlays/menu.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useMayEdit, useProject } from '../../state/project.tsx'
import { DuplicateDialog, EndDialog } from './lifecycle-dialogs.tsx'

type ExperimentActionsProps = {
  readonly experiment: ShownExperiment
  /** There are changes that are not saved: they come first. */
  readonly is_changed: boolean
}

type ExperimentDialog = 'delete' | 'duplicate' | 'end' | 'reset' | 'ship'

/** Draws the button and the menu. */
export function ExperimentActions({ experiment, is_changed }: ExperimentActionsProps): VNode {
  const { id } = useProject()
  const may_move = useMayEdit('feature_flag')
  const [dialog, setDialog] = useState<ExperimentDialog | null>(null)
  const is_moving = useRef(false)
  const { status } = experiment
  const apply = async (change: () => Promise<unknown>): Promise<boolean> => {
    // A double click would be refused: the step is taken.
    if (is_moving.current) return false
    is_moving.current = true
    const is_done = await applyChange(change)
    is_moving.current = false
    return is_done
  }
  const step = (move: ExperimentMove): Promise<boolean> =>
    apply(() => moveExperiment(id, experiment.id, move))
  const launch = async (): Promise<void> => {
    const { feature_flag: flag } = experiment
    let launched = experiment
    const is_done = await apply(async () => {
      launched = await moveExperiment(id, experiment.id, 'launch')
    })
    if (!is_done) return
    const undo = async (): Promise<void> => {
      await requireUnchanged(id, launched)
      if (flag?.active === false) await changeFlag(id, flag.id, { active: false })
      await moveExperiment(id, experiment.id, 'reset')
    }
    showToast({ text: 'Launched', action: { text: 'Undo', run: () => void apply(undo) } })
  }
  return (
    <>
      {!is_changed && status === 'draft' && may_move && (
        <Button look="main" onClick={() => void launch()}>
          Launch
        </Button>
      )}
      {!is_changed && (status === 'running' || status === 'paused') && (
        <Button onClick={() => setDialog('end')}>End</Button>
      )}
      <ExperimentMenu experiment={experiment} may_move={may_move} step={step} open={setDialog} />
      <OpenedDialog experiment={experiment} dialog={dialog} onClose={() => setDialog(null)} />
    </>
  )
}

type ExperimentMenuProps = {
  readonly experiment: ShownExperiment
  readonly may_move: boolean
  readonly step: (move: ExperimentMove) => Promise<boolean>
  readonly open: (dialog: ExperimentDialog) => void
}

function ExperimentMenu({ experiment, may_move, step, open }: ExperimentMenuProps): VNode {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const may_make_cohorts = useMayEdit('cohort')
  const { status, archived } = experiment
  const has_begun = status !== 'draft'
  const toCohort = (): Promise<boolean> =>
    applyChange(async () => navigate(`/cohorts/${await makeExposureCohort(id, experiment.id)}`))
  const move = (text: string, name: ExperimentMove): MenuItem => ({
    text,
    onSelect: () => void step(name),
  })
  const items: readonly (MenuItem | false | null)[] = [
    may_move && status === 'running' && move('Pause', 'pause'),
    may_move && status === 'paused' && move('Resume', 'resume'),
    may_move && has_begun && { text: 'Ship a variant…', onSelect: () => open('ship') },
    has_begun &&
      may_make_cohorts && {
        text: 'Make a cohort of the exposed',
        icon: 'cohorts',
        onSelect: () => void toCohort(),
      },
    { text: 'Duplicate…', icon: 'copy', onSelect: () => open('duplicate') },
    status === 'stopped' && !archived && move('Archive', 'archive'),
    archived && move('Unarchive', 'unarchive'),
    has_begun && { text: 'Make it a draft again…', onSelect: () => open('reset') },
    null,
    { text: 'Delete', icon: 'trash', is_danger: true, onSelect: () => open('delete') },
  ]
  return <Menu label="Actions of the experiment" items={items.filter((item) => item !== false)} />
}

type OpenedDialogProps = {
  readonly experiment: ShownExperiment
  readonly dialog: ExperimentDialog | null
  readonly onClose: () => void
}

function OpenedDialog({ experiment, dialog, onClose }: OpenedDialogProps): VNode | null {
  const { id } = useProject()
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await changeExperiment(id, experiment.id, { deleted: true })
    navigate('/experiments')
    const restore = (): void =>
      void applyChange(() => changeExperiment(id, experiment.id, { deleted: false }))
    showToast({ text: 'Experiment deleted', action: { text: 'Undo', run: restore } })
  }
  const reset = async (): Promise<void> => {
    await moveExperiment(id, experiment.id, 'reset')
  }
  switch (dialog) {
    case 'end':
    case 'ship':
      return <EndDialog experiment={experiment} is_shipping={dialog === 'ship'} onClose={onClose} />
    case 'duplicate':
      return <DuplicateDialog experiment={experiment} onClose={onClose} />
    case 'reset':
      return (
        <ConfirmDialog
          title="Make it a draft again"
          action="Make it a draft"
          onConfirm={reset}
          onClose={onClose}
        >
          <p>
            Its times and its conclusion are removed. The flag stays as it is, and so do the events.
          </p>
        </ConfirmDialog>
      )
    case 'delete':
      return (
        <ConfirmDialog
          title="Delete this experiment"
          action="Delete"
          onConfirm={remove}
          onClose={onClose}
        >
          <p>
            The flag <strong>{experiment.feature_flag_key}</strong> stays as it is, and so do the
            events.
          </p>
        </ConfirmDialog>
      )
    case null:
      return null
  }
}
