/** Demo data: a believable product to look around in, in this project while it is empty, later in one beside it. */
import { useQueryClient } from '@tanstack/preact-query'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import {
  createProject,
  type DemoProgress,
  demoKey,
  startDemo,
  useDemoRun,
} from '../../api/start.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { formatNumber } from '../../parts/format.ts'
import { ErrorNote, errorText } from '../../parts/notes/error-note.tsx'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { useProject } from '../../state/project.tsx'
import { refreshSession, useSession } from '../../state/session.ts'
import style from './start.module.css'

const ADMIN = 8

/** Draws the card; nothing for members who may not fill a project. */
export function DemoCard({ has_events }: { readonly has_events: boolean }): VNode | null {
  const { organization } = useProject()
  const session = useSession()
  const run = useDemoRun()
  const organizations = session.data?.state === 'in' ? session.data.organizations : []
  const level = organizations.find(({ id }) => id === organization)?.membership_level ?? 0
  if (level < ADMIN) return null
  return (
    <section class={style.card} aria-labelledby="demo">
      <h2 id="demo">Look around with demo data</h2>
      <Loaded of={run} skeleton={<SkeletonBlock height={64} />}>
        {(state) =>
          state === null || state.state === 'failed' ? (
            <DemoOffer has_events={has_events} failure={state?.error ?? null} />
          ) : (
            <DemoRunning run={state} />
          )
        }
      </Loaded>
    </section>
  )
}

type DemoOfferProps = { readonly has_events: boolean; readonly failure: string | null }

function DemoOffer({ has_events, failure }: DemoOfferProps): VNode {
  const project = useProject()
  const [, navigate] = useLocation()
  const client = useQueryClient()
  const [error, setError] = useState<unknown>(null)
  const [is_running, setRunning] = useState(false)
  const fill = async (): Promise<void> => {
    setRunning(true)
    setError(null)
    try {
      const id = has_events ? await createProject(project.organization, 'Demo') : project.id
      client.setQueryData(demoKey(id), await startDemo(id))
      if (has_events) {
        await refreshSession()
        navigate(`~/p/${id}/start`)
      }
    } catch (failed) {
      setError(failed)
    }
    setRunning(false)
  }
  return (
    <>
      <p class={style.hint}>
        Three months of a small product: visitors, sign-ups, companies, flags, sessions.{' '}
        {has_events
          ? 'It goes into its own project, separate from your events.'
          : 'It goes into this project: real events that arrive later mix with it.'}
      </p>
      {failure !== null && <ErrorNote message={failure} />}
      {error !== null && <ErrorNote message={errorText(error)} />}
      <div class={style.actions}>
        <Button disabled={is_running} onClick={() => void fill()}>
          {has_events ? 'Create a demo project' : 'Fill with demo data'}
        </Button>
      </div>
    </>
  )
}

function DemoRunning({ run }: { readonly run: DemoProgress }): VNode {
  const { state, progress, done_events, total_events } = run
  if (state === 'done') {
    return (
      <>
        <p class={style.hint}>{formatNumber(done_events)} demo events are here.</p>
        <div class={style.actions}>
          <ButtonLink href="/explore" icon="explore">
            Explore
          </ButtonLink>
        </div>
      </>
    )
  }
  return (
    <div class={style.progress}>
      <progress aria-label="Demo data" max={1} value={progress} />
      <span>
        {total_events === 0
          ? 'Begins…'
          : `${formatNumber(done_events)} of about ${formatNumber(total_events)} events`}
      </span>
    </div>
  )
}
