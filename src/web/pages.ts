/** PROJECT_PAGES and OUTER_PAGES: every page, one line each. */
import type { ComponentType } from 'preact'
import { lazyPage } from './lazy-page.tsx'
import type { IconName } from './parts/icon.tsx'

/** A page of a project, at `/p/:project/<folder>/…`; `folder` is its folder in `pages/`. */
export type ProjectPage = {
  readonly folder: string
  readonly title: string
  readonly icon: IconName
  /** The letter that opens the page after `g`. */
  readonly key?: string
  /** The page of the menu that it belongs to, where it has no place of its own. */
  readonly part_of?: string
  /** Its place in the menu: among the first, which are on the phone's bar too; below them; at the foot; not in it. */
  readonly place: 'first' | 'more' | 'foot' | 'none'
  readonly View: ComponentType
}

/** A page outside of all projects. The server serves these addresses by name: `http/browser/files.ts`. */
type OuterPage = {
  readonly path: '/setup' | '/login' | '/join' | '/reset' | '/shared/:token'
  readonly View: ComponentType
}

/** The pages in the order of the menu. Adding a page means adding a line. */
export const PROJECT_PAGES: readonly ProjectPage[] = [
  {
    folder: 'web',
    title: 'Web',
    icon: 'web',
    key: 'w',
    place: 'first',
    View: lazyPage(() => import('./pages/web/page.tsx').then(({ WebPage }) => WebPage)),
  },
  {
    folder: 'explore',
    title: 'Explore',
    icon: 'explore',
    key: 'x',
    place: 'first',
    View: lazyPage(() => import('./pages/explore/page.tsx').then(({ ExplorePage }) => ExplorePage)),
  },
  {
    folder: 'insights',
    title: 'Insight',
    icon: 'explore',
    part_of: 'explore',
    place: 'none',
    View: lazyPage(() => import('./pages/explore/page.tsx').then(({ InsightPage }) => InsightPage)),
  },
  {
    folder: 'events',
    title: 'Events',
    icon: 'events',
    key: 'e',
    place: 'first',
    View: lazyPage(() => import('./pages/events/page.tsx').then(({ EventsPage }) => EventsPage)),
  },
  {
    folder: 'persons',
    title: 'Persons',
    icon: 'persons',
    key: 'p',
    place: 'first',
    View: lazyPage(() => import('./pages/persons/page.tsx').then(({ PersonsPage }) => PersonsPage)),
  },
  {
    folder: 'sql',
    title: 'SQL',
    icon: 'sql',
    key: 's',
    place: 'first',
    View: lazyPage(() => import('./pages/sql/page.tsx').then(({ SqlPage }) => SqlPage)),
  },
  {
    folder: 'boards',
    title: 'Boards',
    icon: 'boards',
    key: 'b',
    place: 'first',
    View: lazyPage(() => import('./pages/boards/page.tsx').then(({ BoardsPage }) => BoardsPage)),
  },
  {
    folder: 'flags',
    title: 'Flags',
    icon: 'flags',
    key: 'f',
    place: 'more',
    View: lazyPage(() => import('./pages/flags/page.tsx').then(({ FlagsPage }) => FlagsPage)),
  },
  {
    folder: 'experiments',
    title: 'Experiments',
    icon: 'experiments',
    key: 't',
    place: 'more',
    View: lazyPage(() =>
      import('./pages/experiments/page.tsx').then(({ ExperimentsPage }) => ExperimentsPage),
    ),
  },
  {
    folder: 'cohorts',
    title: 'Cohorts',
    icon: 'cohorts',
    key: 'c',
    place: 'more',
    View: lazyPage(() => import('./pages/cohorts/page.tsx').then(({ CohortsPage }) => CohortsPage)),
  },
  {
    folder: 'surveys',
    title: 'Surveys',
    icon: 'surveys',
    key: 'v',
    place: 'more',
    View: lazyPage(() => import('./pages/surveys/page.tsx').then(({ SurveysPage }) => SurveysPage)),
  },
  {
    folder: 'data',
    title: 'Data',
    icon: 'data',
    key: 'd',
    place: 'more',
    View: lazyPage(() => import('./pages/data/page.tsx').then(({ DataPage }) => DataPage)),
  },
  {
    folder: 'alerts',
    title: 'Alerts',
    icon: 'alert',
    key: 'a',
    place: 'more',
    View: lazyPage(() => import('./pages/alerts/page.tsx').then(({ AlertsPage }) => AlertsPage)),
  },
  {
    folder: 'start',
    title: 'Start',
    icon: 'start',
    place: 'foot',
    View: lazyPage(() => import('./pages/start/page.tsx').then(({ StartPage }) => StartPage)),
  },
  {
    folder: 'settings',
    title: 'Settings',
    icon: 'settings',
    place: 'foot',
    View: lazyPage(() =>
      import('./pages/settings/page.tsx').then(({ SettingsPage }) => SettingsPage),
    ),
  },
]

/** Setting up, logging in, joining by invite, choosing a new password, reading a board by its public link. */
export const OUTER_PAGES: readonly OuterPage[] = [
  {
    path: '/setup',
    View: lazyPage(() => import('./pages/setup/page.tsx').then(({ SetupPage }) => SetupPage)),
  },
  {
    path: '/login',
    View: lazyPage(() => import('./pages/login/page.tsx').then(({ LoginPage }) => LoginPage)),
  },
  {
    path: '/join',
    View: lazyPage(() => import('./pages/join/page.tsx').then(({ JoinPage }) => JoinPage)),
  },
  {
    path: '/reset',
    View: lazyPage(() => import('./pages/reset/page.tsx').then(({ ResetPage }) => ResetPage)),
  },
  {
    path: '/shared/:token',
    View: lazyPage(() => import('./pages/shared/page.tsx').then(({ SharedPage }) => SharedPage)),
  },
]
