/** By which properties a query is broken down. */
import type { VNode } from 'preact'
import { IconButton } from '../../../parts/button.tsx'
import { NO_COHORTS, PropertyList } from '../../../parts/filters/property-list.tsx'
import { propertyTitle } from '../../../parts/names.ts'
import { Popover } from '../../../parts/overlays/popover.tsx'
import type { BreakdownNode, ExploreQuery } from '../explore-query.ts'
import style from './editor.module.css'

type BreakdownEditorProps = {
  readonly query: ExploreQuery
  readonly onChange: (query: ExploreQuery) => void
  readonly breakdowns_max: number
}

/** Draws the chosen properties and a button that adds one. */
export function BreakdownEditor({ query, onChange, breakdowns_max }: BreakdownEditorProps): VNode {
  const breakdowns = query.breakdownFilter?.breakdowns ?? []
  const change = (next: readonly BreakdownNode[]): void => {
    const { breakdownFilter, ...rest } = query
    onChange(
      next.length === 0
        ? rest
        : { ...rest, breakdownFilter: { ...breakdownFilter, breakdowns: next } },
    )
  }
  return (
    <div class={style.line} role="group" aria-label="Breakdown">
      <span class={style.word}>by</span>
      {breakdowns.map((one, index) => (
        <span key={`${one.type}:${one.property}`} class={style.chip}>
          <span class={style.chipText}>{breakdownName(one)}</span>
          <IconButton
            icon="close"
            label={`Remove breakdown by ${breakdownName(one)}`}
            onClick={() => change(breakdowns.toSpliced(index, 1))}
          />
        </span>
      ))}
      {breakdowns.length < breakdowns_max && (
        <Popover
          label="Add a breakdown"
          name="Add a breakdown"
          text="Breakdown"
          icon="plus"
          look="quiet"
          is_bare
        >
          {(close) => (
            <PropertyList
              {...(breakdowns_max > 1 && { offered: NO_COHORTS })}
              onPick={({ type, key, value, group_type_index }) => {
                close()
                const property = type === 'cohort' ? Number(value) : key
                const group = group_type_index === undefined ? {} : { group_type_index }
                change([...breakdowns, { property, type, ...group }])
              }}
            />
          )}
        </Popover>
      )}
    </div>
  )
}

function breakdownName({ property, type }: BreakdownNode): string {
  return type === 'cohort' ? `cohort ${property}` : propertyTitle(String(property))
}
