/** The whole interface: the page of an address, and the frame around every page. */
import { QueryClientProvider } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter-preact'
import { useBrowserLocation } from 'wouter-preact/use-browser-location'
import { queryClient } from './api/calls/client.ts'
import { lazyPage } from './lazy-page.tsx'
import { OUTER_PAGES, PROJECT_PAGES } from './pages.ts'
import { Boundary } from './parts/notes/boundary.tsx'
import { EmptyNote } from './parts/notes/empty-note.tsx'
import { Loaded } from './parts/notes/loaded.tsx'
import { Toasts } from './parts/overlays/toast.tsx'
import { PageHead } from './parts/page-head.tsx'
import { Home } from './shell/home.tsx'
import type { LoggedIn } from './shell/project-switch.tsx'
import { Shell } from './shell/shell.tsx'
import { BASE_PATH, withoutBase } from './state/base-path.ts'
import { ProjectProvider } from './state/project.tsx'
import { type Session, type SessionProject, useSession } from './state/session.ts'
import { store } from './state/store.ts'

/** Loaded at first use: a page's first load has a limit of bytes. */
const LoginAgain = lazyPage(() => import('./shell/login-again.tsx').then((all) => all.LoginAgain), {
  is_dialog: true,
})
const ProjectGone = lazyPage(
  () => import('./shell/project-gone.tsx').then((all) => all.ProjectGone),
  { is_dialog: true },
)

/** The address without the base path, as every route has it. */
function useOurLocation(): ReturnType<typeof useBrowserLocation> {
  const [path, navigate] = useBrowserLocation()
  return [withoutBase(path), (to, options) => navigate(BASE_PATH + to, options)]
}

/** The routes. Inside of a project, addresses of links are relative to it: `/explore`, and `~/login` leaves it. */
export function App(): VNode {
  return (
    <QueryClientProvider client={queryClient}>
      <Router hook={useOurLocation} hrefs={(href) => BASE_PATH + href}>
        <Switch>
          <Route path="/">
            <Home />
          </Route>
          {OUTER_PAGES.map(({ path, View }) => (
            <Route key={path} path={path}>
              <View />
            </Route>
          ))}
          <Route path="/p/:project" nest>
            {({ project }) => <ProjectArea id={Number(project)} />}
          </Route>
          <Route>
            <LostPage />
          </Route>
        </Switch>
        <Toasts />
      </Router>
    </QueryClientProvider>
  )
}

/**
 * Everything under `/p/:project/`: only with a session, only in a project that the user sees. When either ends, the
 * page stays under a dialog.
 */
function ProjectArea({ id }: { readonly id: number }): VNode {
  const session = useSession()
  const before = useRef<LoggedIn | null>(null)
  const opened = useRef<SessionProject | null>(null)
  const now = session.data
  if (now?.state === 'in') {
    // Somebody else has logged in, here or in another tab: nothing of the page is theirs.
    if (before.current !== null && before.current.user.uuid !== now.user.uuid) location.reload()
    before.current = now
    opened.current = projectIn(now, id) ?? (opened.current?.id === id ? opened.current : null)
  }
  const last = before.current
  const has_ended = now?.state === 'out' && last !== null
  const gone = now?.state === 'in' && projectIn(now, id) === null ? opened.current : null
  return (
    <>
      <Loaded of={session}>
        {(state) => projectArea(has_ended ? last : state, id, opened.current)}
      </Loaded>
      {has_ended && <LoginAgain user={last.user} ended_at={session.dataUpdatedAt} />}
      {gone !== null && <ProjectGone name={gone.name} />}
    </>
  )
}

const projectIn = ({ projects }: LoggedIn, id: number): SessionProject | null =>
  projects.find((one) => one.id === id) ?? null

function projectArea(session: Session, id: number, opened: SessionProject | null): VNode {
  if (session.state === 'setup') return <Redirect to="~/setup" replace />
  if (session.state === 'out') {
    const next = withoutBase(location.pathname) + location.search + location.hash
    return <Redirect to={`~/login?next=${encodeURIComponent(next)}`} replace />
  }
  const project = projectIn(session, id) ?? opened
  if (project === null) return <LostPage />
  store('project', String(id))
  return (
    <ProjectProvider value={project}>
      <Shell session={session}>
        <ProjectPages />
      </Shell>
    </ProjectProvider>
  )
}

function ProjectPages(): VNode {
  const [path] = useLocation()
  return (
    <Boundary subject={path}>
      <Switch>
        {PROJECT_PAGES.map(({ folder, View }) => (
          <Route key={folder} path={`/${folder}/*?`}>
            <View />
          </Route>
        ))}
        <Route>
          <Lost />
        </Route>
      </Switch>
    </Boundary>
  )
}

function Lost(): VNode {
  return (
    <>
      <PageHead title="Page not found" />
      <EmptyNote title="There is no such page" icon="help">
        <p>
          It may have been deleted, or belong to a project that you cannot see.{' '}
          <Link href="~/">Go to the home page</Link>
        </p>
      </EmptyNote>
    </>
  )
}

/** Outside of the shell the page needs a frame of its own. */
function LostPage(): VNode {
  return (
    <main style={{ padding: '20px 32px' }}>
      <Lost />
    </main>
  )
}
