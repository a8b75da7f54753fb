/** The flags of a person or a group, each with its value and the reason. */
import type { UseQueryResult } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import type { FlagReason } from '../../api/persons/persons.ts'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import style from './persons.module.css'

type FlagListProps = {
  readonly of: UseQueryResult<Readonly<Record<string, FlagReason>>>
  /** Said where there is none. */
  readonly empty: string
}

/** Draws the list. */
export function FlagList({ of, empty }: FlagListProps): VNode {
  return (
    <Loaded
      of={of}
      isEmpty={(flags) => Object.keys(flags).length === 0}
      empty={<EmptyNote title={empty} icon="flags" />}
    >
      {(flags) => (
        <ul class={style.list}>
          {Object.entries(flags).map(([key, { value, evaluation }]) => (
            <li key={key}>
              <code>{key}</code>
              <span class={value === false ? style.off : style.on}>{flagText(value)}</span>
              <span class={style.why}>{evaluation.description}</span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

function flagText(value: boolean | string): string {
  if (typeof value === 'string') return value
  return value ? 'on' : 'off'
}
