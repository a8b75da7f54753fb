/** The menu: a column beside the page, or a bar below it on phones. */
import type { VNode } from 'preact'
import { Link, useLocation } from 'wouter-preact'
import { PROJECT_PAGES, type ProjectPage } from '../pages.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/overlays/menu.tsx'
import style from './shell.module.css'

/** The phone's bar has room for these and one more button. */
const BAR_MAX = 4

const listPages = (place: ProjectPage['place']): readonly ProjectPage[] =>
  PROJECT_PAGES.filter((page) => page.place === place)

/** Links to all pages, in their groups. */
export function SideMenu(): VNode {
  return (
    <nav class={style.menu} aria-label="Pages">
      {(['first', 'more'] as const).map((place) => (
        <PageLinks key={place} pages={listPages(place)} />
      ))}
    </nav>
  )
}

/** Links at the foot of the column: settings. */
export function FootMenu(): VNode {
  return <PageLinks pages={listPages('foot')} />
}

function PageLinks({ pages }: { readonly pages: readonly ProjectPage[] }): VNode | null {
  if (pages.length === 0) return null
  return (
    <ul>
      {pages.map((page) => (
        <li key={page.folder}>
          <PageLink page={page} />
        </li>
      ))}
    </ul>
  )
}

function PageLink({ page: { folder, title, icon } }: { readonly page: ProjectPage }): VNode {
  const is_open = useOpenFolder() === folder
  return (
    <Link href={`/${folder}`} class={style.link} aria-current={is_open ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{title}</span>
    </Link>
  )
}

/** The folder of the open page, or of the page of the menu that it is a part of. */
function useOpenFolder(): string | undefined {
  const [path] = useLocation()
  const folder = path.split('/')[1]
  return PROJECT_PAGES.find((page) => page.folder === folder)?.part_of ?? folder
}

/** The bar at the lower edge of a phone: the first pages, and a menu with all others. */
export function BottomBar(): VNode {
  const bar = [...listPages('first'), ...listPages('more')].slice(0, BAR_MAX)
  const others = PROJECT_PAGES.filter((page) => page.place !== 'none' && !bar.includes(page))
  const open_folder = useOpenFolder()
  const is_other = others.some(({ folder }) => folder === open_folder)
  const items = others.map(({ folder, title, icon }) => ({ text: title, icon, href: `/${folder}` }))
  return (
    <nav class={style.bar} aria-label="Pages">
      {bar.map((page) => (
        <PageLink key={page.folder} page={page} />
      ))}
      {items.length > 0 && (
        <Menu
          label="More pages"
          text="More"
          icon="more"
          is_bare
          is_current={is_other}
          items={items}
        />
      )}
    </nav>
  )
}
