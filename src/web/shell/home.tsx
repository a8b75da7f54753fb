/** The address `/`: leads to the setup, the login, or the project of the last visit. */
import type { VNode } from 'preact'
import { Redirect, useSearch } from 'wouter-preact'
import { PROJECT_PAGES } from '../pages.ts'
import { Button } from '../parts/button.tsx'
import { EmptyNote } from '../parts/notes/empty-note.tsx'
import { Loaded } from '../parts/notes/loaded.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { type Session, useSession } from '../state/session.ts'
import { readStored } from '../state/store.ts'
import { logOut } from './user-menu.tsx'

/** Redirects by the state of the session; `?to=explore/abc` names a page of the project. */
export function Home(): VNode {
  const to = new URLSearchParams(useSearch()).get('to')
  return <Loaded of={useSession()}>{(session) => leadOn(session, to)}</Loaded>
}

function leadOn(session: Session, to: string | null): VNode {
  if (session.state !== 'in')
    return <Redirect to={session.state === 'setup' ? '/setup' : '/login'} replace />
  const last = Number(readStored('project'))
  const project = session.projects.find(({ id }) => id === last) ?? session.projects[0]
  if (project === undefined) {
    return (
      <main style={{ padding: '20px 32px' }}>
        <PageHead title="No project" />
        <EmptyNote title="You are not a member of a project">
          <p>Ask an administrator for an invite.</p>
          <Button onClick={() => void logOut()}>Log out</Button>
        </EmptyNote>
      </main>
    )
  }
  const first = project.ingested_event ? (PROJECT_PAGES[0]?.folder ?? '') : 'start'
  const page = to === null || !/^[\w-]+(\/[\w-]+)*$/.test(to) ? first : to
  return <Redirect to={`/p/${project.id}/${page}${location.hash}`} replace />
}
