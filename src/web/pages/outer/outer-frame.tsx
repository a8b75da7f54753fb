/** The frame of pages outside of all projects: the name of the product, a card in the middle. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import style from './outer.module.css'

type OuterFrameProps = {
  /** The page's `<h1>`. */
  readonly title: string
  /** A sentence below it. */
  readonly lead?: ComponentChildren
  readonly children?: ComponentChildren
  /** Further links below the card. */
  readonly foot?: ComponentChildren
}

/** Draws the page. */
export function OuterFrame({ title, lead, children, foot }: OuterFrameProps): VNode {
  useEffect(() => {
    document.title = `${title} · Tidemark`
  }, [title])
  return (
    <main class={style.outer}>
      <div class={style.brand}>
        <svg width="32" height="32" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M5 21q3.7-5 7.3 0t7.4 0 7.3 0M5 13q3.7-5 7.3 0t7.4 0 7.3 0" />
        </svg>
        Tidemark
      </div>
      <div class={style.card}>
        <h1>{title}</h1>
        {lead && <p class={style.lead}>{lead}</p>}
        {children}
      </div>
      {foot && <div class={style.below}>{foot}</div>}
    </main>
  )
}
