/** Queries about visits of websites, as they are sent. */
import { type Static, t } from 'elysia'
import { CompareFilter } from './breakdown.ts'
import { rowMembers } from './events.ts'
import { DateRange, Interval, optionally, PropertyFilters } from './parts.ts'

/** What counts as a conversion: a saved action, or an event by name. */
const ConversionGoal = t.Object(
  {
    actionId: optionally(t.Number({ multipleOf: 1 })),
    customEventName: optionally(t.String()),
  },
  { additionalProperties: true },
)

/** Whether a share of the users is enough, and which. */
const Sampling = t.Object(
  {
    enabled: optionally(t.Boolean()),
    forceSamplingRate: optionally(
      t.Object(
        {
          numerator: t.Number({ exclusiveMinimum: 0 }),
          denominator: optionally(t.Number({ exclusiveMinimum: 0 })),
        },
        { additionalProperties: true },
      ),
    ),
  },
  { additionalProperties: true },
)

/** Members of every query about visits; how it is cached elsewhere passes unread. */
const webMembers = {
  dateRange: t.Optional(t.Nullable(DateRange)),
  properties: optionally(PropertyFilters),
  compareFilter: t.Optional(t.Nullable(CompareFilter)),
  conversionGoal: t.Optional(t.Nullable(ConversionGoal)),
  interval: t.Optional(t.Nullable(Interval)),
  /** Whether the project's own rules clean the pages of a table. */
  doPathCleaning: optionally(t.Boolean()),
  includeRevenue: optionally(t.Boolean()),
  sampling: optionally(Sampling),
  useSessionsTable: optionally(t.Boolean()),
  dataColorTheme: optionally(t.Unknown()),
  aggregation_group_type_index: optionally(t.Number()),
  orderBy: optionally(t.Array(t.String(), { maxItems: 2 })),
  filterTestAccounts: optionally(t.Boolean()),
  ...rowMembers,
}

export const WebOverviewQuery = t.Object(
  { kind: t.Literal('WebOverviewQuery'), ...webMembers },
  { additionalProperties: false },
)
export type WebOverviewQuery = Static<typeof WebOverviewQuery>
/** What every query about visits has. */
export type WebQueryMembers = Omit<WebOverviewQuery, 'kind'>

/** What a table of visits is split by. */
export const WebBreakdown = t.UnionEnum([
  'Browser',
  'City',
  'Country',
  'DeviceType',
  'ExitClick',
  'ExitPage',
  'FrustrationMetrics',
  'InitialChannelType',
  'InitialPage',
  'InitialReferringDomain',
  'InitialUTMCampaign',
  'InitialUTMContent',
  'InitialUTMMedium',
  'InitialUTMSource',
  'InitialUTMSourceMediumCampaign',
  'InitialUTMTerm',
  'Language',
  'OS',
  'Page',
  'PreviousPage',
  'Region',
  'ScreenName',
  'Timezone',
  'Viewport',
])
export type WebBreakdown = Static<typeof WebBreakdown>

export const WebStatsTableQuery = t.Object(
  {
    kind: t.Literal('WebStatsTableQuery'),
    breakdownBy: WebBreakdown,
    includeBounceRate: optionally(t.Boolean()),
    includeScrollDepth: optionally(t.Boolean()),
    includeAvgTimeOnPage: optionally(t.Boolean()),
    ...webMembers,
  },
  { additionalProperties: false },
)
export type WebStatsTableQuery = Static<typeof WebStatsTableQuery>

/** Which addresses people leave by. */
export const WebExternalClicksTableQuery = t.Object(
  {
    kind: t.Literal('WebExternalClicksTableQuery'),
    stripQueryParams: optionally(t.Boolean()),
    ...webMembers,
  },
  { additionalProperties: false },
)
export type WebExternalClicksTableQuery = Static<typeof WebExternalClicksTableQuery>
