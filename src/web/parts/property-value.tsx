/** The value of a property as lists of properties show it. */
import type { VNode } from 'preact'
import style from './property-value.module.css'

/** A text as it is, everything else as JSON; null is muted, which tells it from the text "null". */
export function PropertyValue({ value }: { readonly value: unknown }): VNode {
  if (value === null) return <span class={style.null}>null</span>
  return <>{valueText(value)}</>
}

/** A text as it is, everything else as JSON. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
