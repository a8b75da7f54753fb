/** The history of a property: the events that changed its value, and changes by hand with their users. */
import type { VNode } from 'preact'
import {
  CHANGES_MAX,
  type PropertyChange,
  type PropertyHolder,
  usePropertyHistory,
} from '../../api/persons/property-history.ts'
import { formatMoment } from '../../parts/format.ts'
import { eventTitle } from '../../parts/names.ts'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { useProject } from '../../state/project.tsx'
import style from './persons.module.css'

type PropertyHistoryProps = { readonly holder: PropertyHolder; readonly name: string }

/** Lists the newest changes, the last one first. */
export function PropertyHistory({ holder, name }: PropertyHistoryProps): VNode {
  const { timezone } = useProject()
  return (
    <section class={style.history} aria-label="History of the property">
      <h3>History</h3>
      <Loaded
        of={usePropertyHistory(holder, name)}
        skeleton={<SkeletonBlock height={60} />}
        isEmpty={(changes) => changes.length === 0}
        empty={<p>{NO_CHANGES[holder.kind]}</p>}
      >
        {(changes) => (
          <>
            <ol>
              {changes.map((change, index) => (
                <li key={index}>
                  <span>{changeText(change)}</span>
                  <time dateTime={change.timestamp}>
                    {formatMoment(change.timestamp, timezone)}
                  </time>
                </li>
              ))}
            </ol>
            {changes.length === CHANGES_MAX && <p>Older changes are not listed.</p>}
          </>
        )}
      </Loaded>
    </section>
  )
}

const NO_CHANGES = {
  person:
    'No event names this property: it was read from the events themselves, or came with a merge.',
  group: 'No event names this property.',
} as const

const WORDS = { set: 'Set to', set_once: 'Set once, to', unset: 'Removed' } as const

function changeText({ how, value, event, author }: PropertyChange): string {
  const by = author ?? `the event ${eventTitle(event)}`
  return `${WORDS[how]} ${how === 'unset' ? '' : `${value} `}by ${by}`
}
