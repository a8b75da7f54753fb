/** KIND_VIEWS: how the answer of each kind is drawn, and how it becomes a table. */
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { lazyPage } from '../../../lazy-page.tsx'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import { EXPLORE_KINDS, type ExploreKind, type ExploreQuery } from '../explore-query.ts'
import { funnelTable, isFunnelEmpty } from './funnel-answer.ts'
import { lifecycleTable } from './lifecycle-answer.ts'
import { pathsTable } from './paths-answer.ts'
import { retentionTable } from './retention-answer.ts'
import { stickinessTable } from './stickiness-answer.ts'
import { TrendsView, trendsTable } from './trends-view.tsx'
import type { ViewProps } from './view.ts'

type KindView = {
  readonly View: ComponentType<ViewProps<unknown>> & { readonly preload?: () => void }
  readonly tableOf: (query: ExploreQuery, results: unknown) => AnswerTable
  readonly isEmpty: (results: unknown) => boolean
}

/** The server answers each kind with results of its type. */
function viewOf<Results>(
  View: ComponentType<ViewProps<Results>>,
  tableOf: (query: ExploreQuery, results: Results) => AnswerTable,
  isEmpty: (results: Results) => boolean,
): KindView {
  return { View, tableOf, isEmpty } as unknown as KindView
}

const isNothing = (results: readonly unknown[]): boolean => results.length === 0

const isFlat = (lines: readonly { readonly data: readonly number[] }[]): boolean =>
  lines.every(({ data }) => data.every((value) => value === 0))

const PART = { is_part: true }
const FunnelView = lazyPage(() => import('./funnel-view.tsx').then((all) => all.FunnelView), PART)
const RetentionView = lazyPage(
  () => import('./retention-view.tsx').then((all) => all.RetentionView),
  PART,
)
const PathsView = lazyPage(() => import('./paths-view.tsx').then((all) => all.PathsView), PART)
const LifecycleView = lazyPage(
  () => import('./lifecycle-view.tsx').then((all) => all.LifecycleView),
  PART,
)
const StickinessView = lazyPage(
  () => import('./stickiness-view.tsx').then((all) => all.StickinessView),
  PART,
)

/** One line per kind. Charts other than of trends are loaded with their first answer: a page's first load has a limit of bytes. */
export const KIND_VIEWS: Readonly<Record<ExploreKind, KindView>> = {
  TrendsQuery: viewOf(TrendsView, trendsTable, isNothing),
  FunnelsQuery: viewOf(FunnelView, funnelTable, isFunnelEmpty),
  RetentionQuery: viewOf(RetentionView, retentionTable, (rows) =>
    rows.every(({ values }) => values.every(({ count }) => count === 0)),
  ),
  PathsQuery: viewOf(PathsView, pathsTable, isNothing),
  LifecycleQuery: viewOf(LifecycleView, lifecycleTable, isFlat),
  StickinessQuery: viewOf(StickinessView, stickinessTable, isFlat),
}

/** Loads the chart of a kind of query while its answer is computed. */
export function usePreloadedView(kind: string): void {
  useEffect(() => {
    const drawn = EXPLORE_KINDS.find((one) => one.kind === kind)
    if (drawn !== undefined) KIND_VIEWS[drawn.kind].View.preload?.()
  }, [kind])
}
