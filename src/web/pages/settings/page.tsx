/** Settings: the project, members, personal API keys, the user's own account. */
import type { ComponentType, VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { SectionLinks } from '../../parts/fields/section-links.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { AccountSection } from './account-section.tsx'
import { KeysSection } from './keys-section.tsx'
import { PeopleSection } from './people-section.tsx'
import { ProjectSection } from './project-section.tsx'

/** SECTIONS: the parts of Settings, each at an address of its own. Adding one means adding a line. */
const SECTIONS: readonly {
  readonly path: string
  readonly title: string
  readonly View: ComponentType
}[] = [
  { path: 'project', title: 'Project', View: ProjectSection },
  { path: 'people', title: 'People', View: PeopleSection },
  { path: 'keys', title: 'API keys', View: KeysSection },
  { path: 'account', title: 'Account', View: AccountSection },
]

/** The page, at `/settings/<section>`. */
export function SettingsPage(): VNode {
  const [path] = useLocation()
  const open = SECTIONS.find((one) => one.path === path.split('/')[2]) ?? SECTIONS[0]
  return (
    <>
      <PageHead title="Settings" />
      <SectionLinks
        label="Settings"
        sections={SECTIONS.map((one) => ({ href: `/settings/${one.path}`, title: one.title }))}
      />
      {open && <open.View />}
    </>
  )
}
