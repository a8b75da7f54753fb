/** Links to the parts of a page that have addresses of their own. */
import type { VNode } from 'preact'
import { Link, useLocation } from 'wouter-preact'
import style from './section-links.module.css'

type SectionLinksProps = {
  readonly label: string
  /** The first one is open at the page's own address too. */
  readonly sections: readonly { readonly href: string; readonly title: string }[]
}

/** Draws them as tabs; the one whose address is open is marked. */
export function SectionLinks({ label, sections }: SectionLinksProps): VNode {
  const [path] = useLocation()
  const open = sections.find(({ href }) => path.startsWith(href)) ?? sections[0]
  return (
    <nav class={style.sections} aria-label={label}>
      {sections.map((section) => (
        <Link
          key={section.href}
          href={section.href}
          aria-current={section === open ? 'page' : undefined}
        >
          {section.title}
        </Link>
      ))}
    </nav>
  )
}
