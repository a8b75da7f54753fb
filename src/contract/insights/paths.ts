/** Schema of PathsQuery: the sequences of pages or events of actors. */
import { type Static, t } from 'elysia'
import { FunnelsQuery } from './funnels.ts'
import { commonMembers, optionally } from './parts.ts'

const Texts = t.Array(t.String({ maxLength: 1000 }), { maxItems: 200 })
const Count = t.Number({ multipleOf: 1, minimum: 0, maximum: 1_000_000_000 })

/** A replacement of matching parts of a path item. */
const CleaningRule = t.Object(
  {
    alias: optionally(t.String()),
    regex: optionally(t.String()),
    order: optionally(t.Number()),
  },
  { additionalProperties: true },
)

export const PathsFilter = t.Object(
  {
    /** Types of events in a path; all by default. */
    includeEventTypes: optionally(
      t.Array(t.UnionEnum(['$pageview', '$screen', 'custom_event', 'hogql'])),
    ),
    /** A HogQL expression for path items, with type `hogql`. */
    pathsHogQLExpression: optionally(t.String()),
    startPoint: optionally(t.String()),
    endPoint: optionally(t.String()),
    /** Items that match one of these patterns (`*` matches any text) are merged. */
    pathGroupings: optionally(Texts),
    /** Whether the project's own cleaning rules apply. */
    pathReplacements: optionally(t.Boolean()),
    localPathCleaningFilters: optionally(t.Array(CleaningRule, { maxItems: 200 })),
    /** Excluded items. */
    excludeEvents: optionally(Texts),
    stepLimit: optionally(t.Number({ multipleOf: 1, minimum: 2, maximum: 20 })),
    edgeLimit: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 10_000 })),
    minEdgeWeight: optionally(Count),
    maxEdgeWeight: optionally(Count),
    /** For actors behind an edge: `1_/a`. */
    pathStartKey: optionally(t.String()),
    pathEndKey: optionally(t.String()),
    pathDropoffKey: optionally(t.String()),
    /** Display settings of editors. */
    showFullUrls: t.Optional(t.Unknown()),
  },
  { additionalProperties: false },
)
export type PathsFilter = Static<typeof PathsFilter>

/** Restricts paths to events after, before or between steps of a funnel. */
export const FunnelPathsFilter = t.Object(
  {
    funnelPathType: t.UnionEnum([
      'funnel_path_before_step',
      'funnel_path_between_steps',
      'funnel_path_after_step',
    ]),
    funnelSource: FunnelsQuery,
    funnelStep: optionally(t.Number({ multipleOf: 1 })),
  },
  { additionalProperties: false },
)
export type FunnelPathsFilter = Static<typeof FunnelPathsFilter>

export const PathsQuery = t.Object(
  {
    kind: t.Literal('PathsQuery'),
    pathsFilter: PathsFilter,
    funnelPathsFilter: optionally(FunnelPathsFilter),
    ...commonMembers,
  },
  { additionalProperties: false },
)
export type PathsQuery = Static<typeof PathsQuery>
