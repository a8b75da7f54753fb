/** Start: how events are sent, the first one as it arrives, demo data for a look around. */
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLatestEvent } from '../../api/start.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { useProject } from '../../state/project.tsx'
import { refreshSession } from '../../state/session.ts'
import { ArrivalCard } from './arrival-card.tsx'
import { DemoCard } from './demo-card.tsx'
import { SendCard } from './send-card.tsx'
import style from './start.module.css'

/** The page. */
export function StartPage(): VNode {
  const { ingested_event } = useProject()
  const latest = useLatestEvent()
  const has_events = ingested_event || (latest.data ?? null) !== null
  useEffect(() => {
    // Other pages say that there are no events yet, until the session says otherwise.
    if (has_events && !ingested_event) void refreshSession()
  }, [has_events, ingested_event])
  return (
    <>
      <PageHead title="Start" />
      <div class={style.start}>
        <SendCard />
        <div class={style.side}>
          <ArrivalCard latest={latest} />
          <DemoCard has_events={has_events} />
        </div>
      </div>
    </>
  )
}
