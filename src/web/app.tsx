/** The whole interface: which page an address shows, and what every page needs around it. */
import { QueryClientProvider } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Redirect, Route, Switch } from 'wouter-preact'
import { queryClient } from './api/client.ts'
import { OUTER_PAGES, PROJECT_PAGES } from './pages.ts'
import { EmptyNote } from './parts/empty-note.tsx'
import { Loaded } from './parts/loaded.tsx'
import { Toasts } from './parts/toast.tsx'
import { Home } from './shell/home.tsx'
import { LoginAgain } from './shell/login-again.tsx'
import type { LoggedIn } from './shell/project-switch.tsx'
import { Shell } from './shell/shell.tsx'
import { ProjectProvider } from './state/project.tsx'
import { type Session, useSession } from './state/session.ts'
import { store } from './state/store.ts'

/** The routes. Inside of a project, addresses of links are relative to it: `/explore`, and `~/login` leaves it. */
export function App(): VNode {
  return (
    <QueryClientProvider client={queryClient}>
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
    </QueryClientProvider>
  )
}

/** Everything under `/p/:project/`: only with a session, only in a project that the user sees. */
function ProjectArea({ id }: { readonly id: number }): VNode {
  const session = useSession()
  const before = useRef<LoggedIn | null>(null)
  const now = session.data
  if (now?.state === 'in') {
    // Somebody else has logged in, here or in another tab: nothing of the page is theirs.
    if (before.current !== null && before.current.user.uuid !== now.user.uuid) location.reload()
    before.current = now
  }
  const last = before.current
  const has_ended = now?.state === 'out' && last !== null
  return (
    <>
      <Loaded of={session}>{(state) => projectArea(has_ended ? last : state, id)}</Loaded>
      {has_ended && <LoginAgain user={last.user} ended_at={session.dataUpdatedAt} />}
    </>
  )
}

function projectArea(session: Session, id: number): VNode {
  if (session.state === 'setup') return <Redirect to="~/setup" replace />
  if (session.state === 'out') {
    const next = location.pathname + location.search + location.hash
    return <Redirect to={`~/login?next=${encodeURIComponent(next)}`} replace />
  }
  const project = session.projects.find((one) => one.id === id)
  if (project === undefined) return <LostPage />
  store('project', String(id))
  return (
    <ProjectProvider value={project}>
      <Shell session={session}>
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
      </Shell>
    </ProjectProvider>
  )
}

function Lost(): VNode {
  return (
    <EmptyNote title="There is no such page" icon="help">
      <p>
        It may have been deleted, or belong to a project that you cannot see. <a href="/">Go on</a>
      </p>
    </EmptyNote>
  )
}

/** Outside of the shell the page needs a frame of its own. */
function LostPage(): VNode {
  return (
    <main>
      <Lost />
    </main>
  )
}
