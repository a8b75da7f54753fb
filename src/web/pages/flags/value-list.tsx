/** The values of a flag: on or off, or one of several variants, each with its share and payload. */
import type { VNode } from 'preact'
import { Button, IconButton } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { TextField } from '../../parts/fields/field.tsx'
import { formatNumber } from '../../parts/format.ts'
import type { ChangeDraft } from './condition-list.tsx'
import {
  changeVariant,
  type DraftedFlag,
  type DraftVariant,
  FIRST_VARIANTS,
  removeVariant,
  shareEvenly,
} from './flag-draft.ts'

type ValueListProps = {
  readonly draft: DraftedFlag
  readonly change: ChangeDraft
}

const KINDS = [
  { value: 'switch', text: 'On or off' },
  { value: 'variants', text: 'Variants' },
] as const

/** Draws the values. */
export function ValueList({ draft, change }: ValueListProps): VNode {
  const { variants, payload, conditions } = draft
  const changeKind = (kind: 'switch' | 'variants'): void =>
    kind === 'variants'
      ? change({ variants: FIRST_VARIANTS })
      : change({
          variants: [],
          conditions: conditions.map((condition) => ({ ...condition, variant: '' })),
        })
  return (
    <>
      <Choice
        label="Kind of value"
        options={KINDS}
        value={variants.length === 0 ? 'switch' : 'variants'}
        onChange={changeKind}
      />
      {variants.length > 0 ? (
        <Variants draft={draft} change={change} />
      ) : (
        <TextField
          label="Payload"
          value={payload}
          onInput={(text) => change({ payload: text }, { is_typing: true })}
          hint="JSON that comes with the flag while it is on; empty for none."
          spellcheck={false}
        />
      )}
    </>
  )
}

/** The variants with their shares and payloads; `draft` and `change` are those of a flag, or of what makes one. */
export function Variants({ draft, change }: ValueListProps): VNode {
  const { variants } = draft
  const sum = variants.reduce((total, { share }) => total + Number(share), 0)
  const add = (): void => {
    const key = `variant-${variants.length + 1}`
    change({ variants: [...variants, { key, share: '0', payload: '', others: {} }] })
  }
  return (
    <>
      <ul class={style.values}>
        {variants.map((variant, at) => (
          <VariantItem
            // oxlint-disable-next-line react/no-array-index-key -- the key is what is being typed
            key={at}
            variant={variant}
            is_only={variants.length === 1}
            onInput={(typed) => change(changeVariant(draft, at, typed), { is_typing: true })}
            onRemove={() => change(removeVariant(draft, at))}
          />
        ))}
      </ul>
      {sum !== 100 && (
        <p class={style.warning}>The shares add up to {formatNumber(sum)}%, not to 100%.</p>
      )}
      <div class={style.actions}>
        <Button icon="plus" onClick={add}>
          Add a variant
        </Button>
        <Button onClick={() => change({ variants: shareEvenly(variants) })}>Equal shares</Button>
      </div>
    </>
  )
}

type VariantItemProps = {
  readonly variant: DraftVariant
  readonly is_only: boolean
  readonly onInput: (typed: Partial<DraftVariant>) => void
  readonly onRemove: () => void
}

function VariantItem(props: VariantItemProps): VNode {
  const { variant, is_only, onInput, onRemove } = props
  return (
    <li>
      <TextField
        label="Variant"
        value={variant.key}
        onInput={(key) => onInput({ key })}
        spellcheck={false}
      />
      <TextField
        label="Share in %"
        type="number"
        min={0}
        max={100}
        step="any"
        value={variant.share}
        onInput={(share) => onInput({ share })}
      />
      <TextField
        label="Payload"
        placeholder="JSON"
        value={variant.payload}
        onInput={(payload) => onInput({ payload })}
        spellcheck={false}
      />
      <IconButton
        icon="trash"
        label={`Remove ${variant.key}`}
        disabled={is_only}
        onClick={onRemove}
      />
    </li>
  )
}
