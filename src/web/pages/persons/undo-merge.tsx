/** Shows the changes that undoing a merge would make, and asks for confirmation. */
import type { VNode } from 'preact'
import {
  changePerson,
  type ListedAfterUndo,
  type ListedUndo,
  type PersonListed,
  type PersonMergeListed,
  useUndoPreview,
} from '../../api/persons/persons.ts'
import { formatMoment, formatNumber } from '../../parts/format.ts'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { ConfirmDialog } from '../../parts/overlays/dialog.tsx'
import { showToast } from '../../parts/overlays/toast.tsx'
import { useProject } from '../../state/project.tsx'
import style from './persons.module.css'

type UndoMergeProps = {
  readonly person: PersonListed
  readonly merge: PersonMergeListed
  readonly onClose: () => void
}

/** Asks whether the merge is to be undone. */
export function UndoMerge({ person, merge, onClose }: UndoMergeProps): VNode {
  const { id, timezone } = useProject()
  const preview = useUndoPreview(person.uuid, merge.id)
  const undo = async (): Promise<void> => {
    await changePerson(id, 'POST', [`${person.uuid}/undo_merge/`, { merge_id: merge.id }])
    showToast({ text: 'Merge undone' })
  }
  return (
    <ConfirmDialog
      title="Undo this merge"
      action="Undo the merge"
      onConfirm={undo}
      onClose={onClose}
    >
      <p>
        The merge of {formatMoment(merge.merged_at, timezone)} is undone: one person becomes two
        again, each with its events, those since the merge too.
      </p>
      <Loaded of={preview} skeleton={<SkeletonBlock height={180} />}>
        {(undone) => <Change name={person.name} undone={undone} />}
      </Loaded>
    </ConfirmDialog>
  )
}

type ChangeProps = { readonly name: string; readonly undone: ListedUndo }

/** FIGURES: the figures shown for each of the two persons. */
const FIGURES: readonly {
  readonly title: string
  readonly of: (person: ListedAfterUndo) => number | null
}[] = [
  { title: 'Distinct ids', of: ({ distinct_id_count }) => distinct_id_count },
  { title: 'Events', of: ({ event_count }) => event_count },
  { title: 'Properties', of: ({ property_count }) => property_count },
  { title: 'Cohorts', of: ({ cohort_count }) => cohort_count },
]

function Change({ name, undone }: ChangeProps): VNode {
  const { survivor, restored, properties_lost, cohorts_lost_count } = undone
  return (
    <>
      <table class={style.undo}>
        <thead>
          <tr>
            <td />
            <th scope="col">{name}</th>
            <th scope="col">The other person</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Has</th>
            <td>{idsText(survivor)}</td>
            <td>{idsText(restored)}</td>
          </tr>
          {FIGURES.map(({ title, of }) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              <td>{figureText(of(survivor))}</td>
              <td>{figureText(of(restored))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class={style.lost}>{lostText(name, properties_lost, cohorts_lost_count)}</p>
    </>
  )
}

const IDS_SHOWN = 3

function idsText({ distinct_ids, distinct_id_count }: ListedAfterUndo): string {
  if (distinct_id_count === 0) return 'no id'
  const shown = distinct_ids.slice(0, IDS_SHOWN).join(', ')
  const left = distinct_id_count - Math.min(IDS_SHOWN, distinct_ids.length)
  return left === 0 ? shown : `${shown} and ${formatNumber(left)} more`
}

const figureText = (figure: number | null): string => (figure === null ? '–' : formatNumber(figure))

function lostText(name: string, properties: readonly string[], cohorts: number): string {
  const lost = [
    ...(properties.length === 0 ? [] : [counted(properties.length, 'property', 'properties')]),
    ...(cohorts === 0 ? [] : [counted(cohorts, 'cohort', 'cohorts')]),
  ]
  if (lost.length === 0) return `${name} loses no property and no cohort.`
  const named = properties.length === 0 ? '' : `: ${properties.slice(0, 10).join(', ')}`
  return `${name} loses ${lost.join(' and ')} that came with the merge${named}.`
}

const counted = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`
