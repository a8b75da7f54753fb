/** Start: how events are sent, the first one as it arrives, demo data for a look around. */
import type { VNode } from 'preact'
import { useHasEvents, useLatestEvent } from '../../api/start.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { ArrivalCard } from './arrival-card.tsx'
import { DemoCard } from './demo-card.tsx'
import { SendCard } from './send-card.tsx'
import style from './start.module.css'

/** The page. */
export function StartPage(): VNode {
  const latest = useLatestEvent()
  const has_events = useHasEvents(latest)
  return (
    <>
      <PageHead title="Start" />
      <div class={style.start}>
        <SendCard has_events={has_events} />
        <div class={style.side}>
          <ArrivalCard latest={latest} />
          <DemoCard has_events={has_events} />
        </div>
      </div>
    </>
  )
}
