/** The conditions of a flag, of which one must hold, each with its rollout and the number of persons that match it. */
import type { VNode } from 'preact'
import { useReach } from '../../api/targeting/flags.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { isCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import type { OfferedProperties } from '../../parts/filters/property-list.tsx'
import { formatNumber, formatPercent } from '../../parts/format.ts'
import type { ChangeOptions } from '../../state/url.ts'
import { type DraftCondition, type DraftedFlag, NEW_CONDITION, ownerOf } from './flag-draft.ts'
import { propertyText } from './release-text.ts'

export type ChangeDraft = (changes: Partial<DraftedFlag>, options?: ChangeOptions) => void

type ConditionListProps = { readonly draft: DraftedFlag; readonly change: ChangeDraft }

const PERSON_PROPERTIES: OfferedProperties = { owners: ['person', 'cohort'] }

/** Draws the conditions. */
export function ConditionList({ draft, change }: ConditionListProps): VNode {
  const { conditions } = draft
  const put = (at: number, changed: DraftCondition, options?: ChangeOptions): void =>
    change({ conditions: conditions.with(at, changed) }, options)
  return (
    <>
      {conditions.length === 0 && <p class={style.hint}>Nobody gets the flag.</p>}
      <ol class={style.conditions}>
        {conditions.map((condition, at) => (
          <ConditionItem
            // oxlint-disable-next-line react/no-array-index-key -- conditions have no name of their own
            key={at}
            number={at + 1}
            condition={condition}
            draft={draft}
            onChange={(changed, options) => put(at, { ...condition, ...changed }, options)}
            onRemove={() => change({ conditions: conditions.toSpliced(at, 1) })}
          />
        ))}
      </ol>
      <Button icon="plus" onClick={() => change({ conditions: [...conditions, NEW_CONDITION] })}>
        Add a condition
      </Button>
    </>
  )
}

type ConditionItemProps = {
  /** From 1. */
  readonly number: number
  readonly condition: DraftCondition
  readonly draft: DraftedFlag
  readonly onChange: (changed: Partial<DraftCondition>, options?: ChangeOptions) => void
  readonly onRemove: () => void
}

function ConditionItem(props: ConditionItemProps): VNode {
  const { number, condition, draft, onChange, onRemove } = props
  const { variants } = draft
  const group_type = ownerOf(condition, draft.group_type)
  const filters = condition.properties.filter(isCondition)
  const fixed = condition.properties.filter((property) => !isCondition(property))
  const name = `Condition ${number}`
  return (
    <li>
      <header>
        <h3>{number === 1 ? name : `Or ${name.toLowerCase()}`}</h3>
        <IconButton icon="trash" label={`Remove condition ${number}`} onClick={onRemove} />
      </header>
      <div class={style.who}>
        For {condition.properties.length === 0 && (group_type === null ? 'everyone' : 'all groups')}
        {fixed.map((property) => (
          <span key={propertyText(property)} class={style.fixed}>
            {propertyText(property)}
          </span>
        ))}
        <PropertyFilters
          filters={filters}
          onChange={(next) => onChange({ properties: [...fixed, ...next] })}
          offered={
            group_type === null
              ? PERSON_PROPERTIES
              : { owners: ['group'], group_type_index: group_type }
          }
        />
      </div>
      <Rollout name={name} share={condition.share} onChange={onChange} />
      {variants.length > 0 && (
        <label class={style.rollout}>
          Variant
          <select
            class="field"
            value={condition.variant}
            onChange={(event) => onChange({ variant: event.currentTarget.value })}
          >
            <option value="">By the variants’ shares</option>
            {variants.map(({ key }) => (
              <option key={key} value={key}>
                {key}
              </option>
            ))}
          </select>
        </label>
      )}
      <Reach condition={condition} group_type={group_type} />
    </li>
  )
}

type RolloutProps = {
  /** The name of the condition. */
  readonly name: string
  readonly share: string
  readonly onChange: (changed: Partial<DraftCondition>, options?: ChangeOptions) => void
}

/** The percentage, by number and by slider. */
function Rollout({ name, share, onChange }: RolloutProps): VNode {
  const input = (text: string): void => onChange({ share: text }, { is_typing: true })
  return (
    <div class={style.rollout}>
      Rolled out to
      <input
        class="field"
        type="number"
        min={0}
        max={100}
        step="any"
        aria-label={`Rollout of ${name.toLowerCase()} in percent`}
        placeholder="100"
        value={share}
        onInput={({ currentTarget }) => {
          // The value of `20%`, which Firefox takes, is '': everyone.
          if (!currentTarget.validity.badInput) input(currentTarget.value)
        }}
      />
      %
      <input
        type="range"
        min={0}
        max={100}
        aria-label={`Rollout of ${name.toLowerCase()}`}
        value={share === '' ? '100' : share}
        onInput={(event) => input(event.currentTarget.value)}
      />
    </div>
  )
}

type ReachProps = { readonly condition: DraftCondition; readonly group_type: number | null }

/** The number of persons or groups that get the flag by the condition, and of those that match it. */
function Reach({ condition, group_type }: ReachProps): VNode | null {
  const { data } = useReach(condition.properties, group_type)
  // A condition that cannot be counted is refused when it is saved.
  if (data === undefined) return <p class={style.reach}>…</p>
  const { affected, total } = data
  const share = condition.share === '' ? 1 : Number(condition.share) / 100
  const who = group_type === null ? 'persons' : 'groups'
  return (
    <p class={style.reach} aria-live="polite">
      <strong>{formatNumber(Math.round(affected * share))}</strong> of {formatNumber(total)} {who}
      {total > 0 && ` (${formatPercent((affected * share) / total)})`}
      {share < 1 && `, of ${formatNumber(affected)} that match`}
    </p>
  )
}
