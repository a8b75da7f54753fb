/** The two handles of a tile: one moves it, one changes its size; by pointer and by arrow keys. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import style from './boards.module.css'
import { COLUMNS, fitSize, ROW_PX, type TileSize } from './layout.ts'

type MoveHandleProps = {
  readonly name: string
  /** By how many places the tile moves. */
  readonly onStep: (step: number) => void
  /** The tile below the pointer while it is dragged; null outside of all. */
  readonly onOver: (tile_id: number | null) => void
  readonly onDrop: () => void
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
}

/** A handle that moves a tile to the place of another one. */
export function MoveHandle({ name, onStep, onOver, onDrop }: MoveHandleProps): VNode {
  const is_dragged = useRef(false)
  const end = (is_dropped: boolean): void => {
    if (!is_dragged.current) return
    is_dragged.current = false
    if (is_dropped) onDrop()
    onOver(null)
  }
  return (
    <button
      type="button"
      class={style.handle}
      aria-label={`Move ${name}: arrow keys`}
      title="Move: drag, or arrow keys"
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        is_dragged.current = true
      }}
      onPointerMove={(event) => {
        if (!is_dragged.current) return
        const below = document.elementFromPoint(event.clientX, event.clientY)
        const tile = below?.closest<HTMLElement>('[data-tile]')
        onOver(tile === null || tile === undefined ? null : Number(tile.dataset['tile']))
      }}
      onPointerUp={() => end(true)}
      onPointerCancel={() => end(false)}
      onKeyDown={(event) => {
        const step = STEPS[event.key]
        if (event.key === 'Escape') end(false)
        if (step === undefined) return
        event.preventDefault()
        onStep(step)
      }}
    >
      <Icon name="grip" />
    </button>
  )
}

type SizeHandleProps = {
  readonly name: string
  readonly size: TileSize
  /** Called while the size changes. */
  readonly onDraft: (size: TileSize | null) => void
  readonly onResize: (size: TileSize) => void
}

const GROWTH: Readonly<Record<string, TileSize>> = {
  ArrowLeft: { w: -1, h: 0 },
  ArrowRight: { w: 1, h: 0 },
  ArrowUp: { w: 0, h: -1 },
  ArrowDown: { w: 0, h: 1 },
}

/** A handle in the corner that changes a tile's size, by whole columns and rows. */
export function SizeHandle({ name, size, onDraft, onResize }: SizeHandleProps): VNode {
  const start = useRef<{ readonly x: number; readonly y: number; readonly size: TileSize } | null>(
    null,
  )
  const sizeAt = (event: PointerEvent & { readonly currentTarget: HTMLElement }): TileSize => {
    const grid = event.currentTarget.closest<HTMLElement>('[data-grid]')
    const { x = 0, y = 0, size: before = size } = start.current ?? {}
    const column_px = (grid?.clientWidth ?? 1) / COLUMNS
    return fitSize({
      w: before.w + Math.round((event.clientX - x) / column_px),
      h: before.h + Math.round((event.clientY - y) / ROW_PX),
    })
  }
  return (
    <button
      type="button"
      class={style.corner}
      aria-label={`Size of ${name}: ${size.w} columns, ${size.h} rows; arrow keys`}
      title="Size: drag, or arrow keys"
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        start.current = { x: event.clientX, y: event.clientY, size }
      }}
      onPointerMove={(event) => {
        if (start.current !== null) onDraft(sizeAt(event))
      }}
      onPointerUp={(event) => {
        if (start.current === null) return
        const resized = sizeAt(event)
        const { w, h } = start.current.size
        start.current = null
        onDraft(null)
        if (resized.w !== w || resized.h !== h) onResize(resized)
      }}
      onPointerCancel={() => {
        start.current = null
        onDraft(null)
      }}
      onKeyDown={(event) => {
        const growth = GROWTH[event.key]
        if (growth === undefined) return
        event.preventDefault()
        onResize(fitSize({ w: size.w + growth.w, h: size.h + growth.h }))
      }}
    >
      <Icon name="resize" size={16} />
    </button>
  )
}
