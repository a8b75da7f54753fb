/** The top of a page: its heading, and the actions on the whole page. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import style from './page-head.module.css'

type PageHeadProps = {
  /** The page's one `<h1>`, and the title of the tab. */
  readonly title: string
  /** Beside the heading: a name, a state. */
  readonly aside?: ComponentChildren
  /** At the right end, the one main action last. */
  readonly children?: ComponentChildren
}

/** Draws the heading and the page's controls, and names the tab. */
export function PageHead({ title, aside, children }: PageHeadProps): VNode {
  useEffect(() => {
    document.title = `${title} · Tidemark`
  }, [title])
  return (
    <header class={style.head}>
      <h1 title={title}>{title}</h1>
      {aside}
      <div class={style.actions}>{children}</div>
    </header>
  )
}
