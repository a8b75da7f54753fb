/** Grey bars where an answer will be, at its first load only. */
import type { VNode } from 'preact'
import style from './skeleton.module.css'

type SkeletonProps = {
  readonly lines?: number
  /** Read out by screen readers. */
  readonly label?: string
}

const WIDTHS = ['92%', '74%', '83%', '61%', '88%', '70%']

/** Draws bars of uneven length. */
export function Skeleton({ lines = 3, label = 'Loading' }: SkeletonProps): VNode {
  return (
    <div class={style.skeleton} role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} style={{ width: WIDTHS[index % WIDTHS.length] ?? '80%' }} />
      ))}
    </div>
  )
}

/** Grey stripes over a known height, in px or of a CSS variable, for a chart, a figure or a table. */
export function SkeletonBlock({ height }: { readonly height: number | string }): VNode {
  return <div class={style.block} role="status" aria-label="Loading" style={{ height }} />
}
