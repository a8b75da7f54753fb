/** Views of saved insights: the users, and the time of their last view. */
import { and, asc, desc, eq, gte } from 'drizzle-orm'
import type { ControlDB } from '../storage/control/control-db.ts'
import type { SavedInsight } from './insight.ts'
import { insight_views, insights } from './tables.ts'

/** The id of an insight with its viewers, the latest first. */
type InsightViews = { readonly insight_id: number; readonly viewers: readonly number[] }

/** Records that a user viewed insights. */
export function recordViews(
  db: ControlDB,
  user_id: number,
  viewed: readonly SavedInsight[],
  now: Date,
): void {
  db.transaction((tx) => {
    for (const { id } of viewed) {
      tx.insert(insight_views)
        .values({ insight_id: id, user_id, last_viewed_at: now })
        .onConflictDoUpdate({
          target: [insight_views.insight_id, insight_views.user_id],
          set: { last_viewed_at: now },
        })
        .run()
    }
  })
}

/** Lists the insights that a user viewed, the latest first, up to a limit. */
export function listViewed(
  db: ControlDB,
  project_id: number,
  { user_id, limit }: { readonly user_id: number; readonly limit: number },
): readonly SavedInsight[] {
  return db
    .select({ insight: insights })
    .from(insight_views)
    .innerJoin(insights, eq(insights.id, insight_views.insight_id))
    .where(and(thereIn(project_id), eq(insight_views.user_id, user_id)))
    .orderBy(desc(insight_views.last_viewed_at), desc(insights.id))
    .limit(limit)
    .all()
    .map(({ insight }) => insight)
}

/** Lists the insights viewed by any user since a time, those with the most viewers first. */
export function listTrending(
  db: ControlDB,
  project_id: number,
  since: Date,
): readonly InsightViews[] {
  const rows = db
    .select({ insight_id: insights.id, user_id: insight_views.user_id })
    .from(insight_views)
    .innerJoin(insights, eq(insights.id, insight_views.insight_id))
    .where(and(thereIn(project_id), gte(insight_views.last_viewed_at, since)))
    .orderBy(desc(insight_views.last_viewed_at), asc(insight_views.user_id))
    .all()
  const by_insight = Map.groupBy(rows, ({ insight_id }) => insight_id)
  return [...by_insight]
    .map(([insight_id, own]) => ({ insight_id, viewers: own.map(({ user_id }) => user_id) }))
    .toSorted((a, b) => b.viewers.length - a.viewers.length)
}

const thereIn = (project_id: number) =>
  and(eq(insights.project_id, project_id), eq(insights.deleted, false))
