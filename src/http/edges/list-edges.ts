/** The edges that forward to this server, as they reported themselves last. */
import { type EdgeReport, readReport } from '../../edge/report.ts'
import type { AppContext } from '../app-context.ts'

/** An edge with its last report. */
type ListedEdge = EdgeReport & {
  readonly id: string
  /** Time of the report, µs since 1970 UTC. */
  readonly seen_at: number
  /** Seconds by which the edge's clock is ahead of this server's, less the time that the report travelled. */
  readonly clock_skew_s: number
}

/** Every edge that reported lately. */
export function listEdges({
  ingest,
  now,
}: Pick<AppContext, 'ingest' | 'now'>): readonly ListedEdge[] {
  return ingest.listEdges(now()).flatMap(({ edge, report: text, seen_at }) => {
    const report = readReport(text)
    if (report === null) return []
    return [
      { id: edge, ...report, seen_at, clock_skew_s: (report.clock_ms - seen_at / 1000) / 1000 },
    ]
  })
}
