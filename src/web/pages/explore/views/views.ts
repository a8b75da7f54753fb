/** KIND_VIEWS: how the answer of each kind is drawn, and how it becomes a table. */
import type { ComponentType } from 'preact'
import type {
  LifecycleSeriesAnswer,
  PathsEdgeAnswer,
  RetentionRowAnswer,
  StickinessSeriesAnswer,
  TrendsSeriesAnswer,
} from '../../../../contract/insights/answers.ts'
import type { AnswerTable } from '../../../parts/answer/answer-table.ts'
import type { ExploreKind, ExploreQuery } from '../explore-query.ts'
import { type FunnelResults, FunnelView, funnelTable, isFunnelEmpty } from './funnel-view.tsx'
import {
  LifecycleView,
  lifecycleTable,
  PathsView,
  pathsTable,
  RetentionView,
  retentionTable,
  StickinessView,
  stickinessTable,
} from './other-views.tsx'
import { TrendsView, trendsTable } from './trends-view.tsx'
import type { ViewProps } from './view.ts'

type KindView = {
  readonly View: ComponentType<ViewProps<unknown>>
  readonly tableOf: (query: ExploreQuery, results: unknown) => AnswerTable
  readonly isEmpty: (results: unknown) => boolean
}

/** The server answers each kind with results of its type. */
function viewOf<Results>(
  View: (props: ViewProps<Results>) => unknown,
  tableOf: (query: ExploreQuery, results: Results) => AnswerTable,
  isEmpty: (results: Results) => boolean,
): KindView {
  return { View, tableOf, isEmpty } as unknown as KindView
}

const isNothing = (results: readonly unknown[]): boolean => results.length === 0

const isFlat = (lines: readonly { readonly data: readonly number[] }[]): boolean =>
  lines.every(({ data }) => data.every((value) => value === 0))

/** One line per kind. */
export const KIND_VIEWS: Readonly<Record<ExploreKind, KindView>> = {
  TrendsQuery: viewOf<readonly TrendsSeriesAnswer[]>(TrendsView, trendsTable, isNothing),
  FunnelsQuery: viewOf<FunnelResults>(FunnelView, funnelTable, isFunnelEmpty),
  RetentionQuery: viewOf<readonly RetentionRowAnswer[]>(RetentionView, retentionTable, (rows) =>
    rows.every(({ values }) => values.every(({ count }) => count === 0)),
  ),
  PathsQuery: viewOf<readonly PathsEdgeAnswer[]>(PathsView, pathsTable, isNothing),
  LifecycleQuery: viewOf<readonly LifecycleSeriesAnswer[]>(LifecycleView, lifecycleTable, isFlat),
  StickinessQuery: viewOf<readonly StickinessSeriesAnswer[]>(
    StickinessView,
    stickinessTable,
    isFlat,
  ),
}
