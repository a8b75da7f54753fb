/** Schemas of web analytics queries. */
import { type Static, t } from 'elysia'
import { CompareFilter } from './breakdown.ts'
import { DateRange, Interval, optionally, PropertyFilters, rowMembers } from './parts.ts'

/** The conversion: a saved action, or an event by name. */
const ConversionGoal = t.Object(
  {
    actionId: optionally(t.Number({ multipleOf: 1 })),
    customEventName: optionally(t.String()),
  },
  { additionalProperties: true },
)

/** Whether a sample of users suffices, and its size. */
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

/** Members of every web analytics query; cache settings are ignored. */
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
/** Members of every web analytics query. */
export type WebQueryMembers = Omit<WebOverviewQuery, 'kind'>

/** Breakdowns of web tables. */
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

/** External addresses that visitors click. */
export const WebExternalClicksTableQuery = t.Object(
  {
    kind: t.Literal('WebExternalClicksTableQuery'),
    stripQueryParams: optionally(t.Boolean()),
    ...webMembers,
  },
  { additionalProperties: false },
)
export type WebExternalClicksTableQuery = Static<typeof WebExternalClicksTableQuery>
