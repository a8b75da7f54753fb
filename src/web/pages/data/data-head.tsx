/** The head of the lists of Data, with the tabs between them. */
import type { ComponentChildren, VNode } from 'preact'
import { SectionLinks } from '../../parts/fields/section-links.tsx'
import { PageHead } from '../../parts/page-head.tsx'

const SECTIONS = [
  { href: '/data/events', title: 'Events' },
  { href: '/data/properties', title: 'Properties' },
  { href: '/data/actions', title: 'Actions' },
] as const

/** Draws the heading, the main action of the list, and the tabs. */
export function DataHead({ children }: { readonly children?: ComponentChildren }): VNode {
  return (
    <>
      <PageHead title="Data">{children}</PageHead>
      <SectionLinks label="Data" sections={SECTIONS} />
    </>
  )
}
