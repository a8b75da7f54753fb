/** PathsQuery as it is sent: the ways people go through a product. */
import { type Static, t } from 'elysia'
import { FunnelsQuery } from './funnels.ts'
import { commonMembers, optionally } from './parts.ts'

const Texts = t.Array(t.String({ maxLength: 1000 }), { maxItems: 200 })
const Count = t.Number({ multipleOf: 1, minimum: 0, maximum: 1_000_000_000 })

/** What replaces parts of a path that match. */
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
    /** Events that are a part of the way; all where there are none. */
    includeEventTypes: optionally(
      t.Array(t.UnionEnum(['$pageview', '$screen', 'custom_event', 'hogql'])),
    ),
    /** What an event is called, with `hogql`. */
    pathsHogQLExpression: optionally(t.String()),
    startPoint: optionally(t.String()),
    endPoint: optionally(t.String()),
    /** Items that match one of these, `*` standing for anything, are one. */
    pathGroupings: optionally(Texts),
    /** Whether the project's own rules clean items. */
    pathReplacements: optionally(t.Boolean()),
    localPathCleaningFilters: optionally(t.Array(CleaningRule, { maxItems: 200 })),
    /** Items left out. */
    excludeEvents: optionally(Texts),
    stepLimit: optionally(t.Number({ multipleOf: 1, minimum: 2, maximum: 20 })),
    edgeLimit: optionally(t.Number({ multipleOf: 1, minimum: 1, maximum: 10_000 })),
    minEdgeWeight: optionally(Count),
    maxEdgeWeight: optionally(Count),
    /** Of people behind an edge: `1_/a`. */
    pathStartKey: optionally(t.String()),
    pathEndKey: optionally(t.String()),
    pathDropoffKey: optionally(t.String()),
    /** How editors show it. */
    showFullUrls: t.Optional(t.Unknown()),
  },
  { additionalProperties: false },
)
export type PathsFilter = Static<typeof PathsFilter>

/** Only what people of a funnel do after, before or between its steps. */
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
