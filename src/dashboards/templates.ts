/** TEMPLATES: dashboards that a new one can start with. The API and the web interface offer this list. */
import type { Json } from '../projects/tables.ts'

/** A dashboard to start with. */
export type DashboardTemplate = {
  /** Never reused: clients keep it. */
  readonly id: string
  /** Names the template in `use_template`; its `template_name` does too. */
  readonly key: string
  readonly template_name: string
  readonly dashboard_description: string
  readonly dashboard_filters: Json
  readonly tags: readonly string[]
  readonly tiles: readonly TemplateTile[]
}

/** A tile of a template: an insight, or a text. */
export type TemplateTile =
  | {
      readonly type: 'INSIGHT'
      readonly name: string
      readonly description: string
      readonly query: Json
      /** Legacy filters, in templates of callers. */
      readonly filters?: Json
      readonly layouts: Json
      readonly color: string | null
    }
  | {
      readonly type: 'TEXT'
      readonly body: string
      readonly layouts: Json
      readonly color: string | null
    }

const PAGEVIEW = '$pageview'
const IDENTIFY = '$identify'
const FLAG_CALLED = '$feature_flag_called'

const SIGN_UP_FUNNEL = {
  kind: 'FunnelsQuery',
  series: [
    { kind: 'EventsNode', event: PAGEVIEW, name: 'Visit' },
    { kind: 'EventsNode', event: IDENTIFY, name: 'Sign-up' },
  ],
  funnelsFilter: { funnelWindowInterval: 14, funnelWindowIntervalUnit: 'day' },
} as const

/** Every template. A line is one more; its tiles are laid out two in a row. */
export const TEMPLATES: readonly DashboardTemplate[] = [
  template({
    id: '0b7e7a52-5d0f-4a52-9a54-6f1d2c3b4a01',
    key: 'DEFAULT_APP',
    template_name: 'Product analytics',
    dashboard_description: 'Active persons, how often they come, and retention.',
    tags: ['product'],
    date_from: '-30d',
    tiles: [
      insight('Daily active users', 'Persons with an event, by day.', trends('dau', 'day')),
      insight('Weekly active users', 'Persons with an event, by week.', {
        ...trends('dau', 'week'),
        dateRange: { date_from: '-90d' },
      }),
      insight('Growth', 'Persons who are new, come back, return after a pause, or stay away.', {
        kind: 'LifecycleQuery',
        series: series('total'),
        interval: 'week',
      }),
      insight('Retention', 'Persons of a week who come back in later weeks.', {
        kind: 'RetentionQuery',
        retentionFilter: {
          period: 'Week',
          totalIntervals: 8,
          targetEntity: { id: PAGEVIEW, type: 'events' },
          returningEntity: { id: PAGEVIEW, type: 'events' },
        },
      }),
      insight('Stickiness', 'On how many days of the period persons were active.', {
        kind: 'StickinessQuery',
        series: series('total'),
        interval: 'day',
      }),
      insight('Where visitors come from', 'Persons by referring site.', {
        ...trends('dau', 'day'),
        breakdownFilter: { breakdown: '$referring_domain', breakdown_type: 'event' },
        trendsFilter: { display: 'ActionsBarValue' },
      }),
    ],
  }),
  template({
    id: '0b7e7a52-5d0f-4a52-9a54-6f1d2c3b4a02',
    key: 'WEB_ANALYTICS',
    template_name: 'Web analytics',
    dashboard_description: 'Traffic of a site: visitors, pages, sources, countries and devices.',
    tags: ['web'],
    date_from: '-14d',
    tiles: [
      insight('Visitors', 'Persons by day.', trends('dau', 'day')),
      insight('Page views', 'Views of pages by day.', trends('total', 'day')),
      insight('Sessions', 'Sessions by day.', trends('unique_session', 'day')),
      insight('Pages', 'Views by path.', bars('total', '$pathname')),
      insight('Sources', 'Visitors by referring site.', bars('dau', '$referring_domain')),
      insight('Countries', 'Visitors by country.', bars('dau', '$geoip_country_name')),
      insight('Browsers', 'Visitors by browser.', bars('dau', '$browser')),
      insight('Devices', 'Visitors by kind of device.', bars('dau', '$device_type')),
    ],
  }),
  template({
    id: '0b7e7a52-5d0f-4a52-9a54-6f1d2c3b4a03',
    key: 'EVENTS',
    template_name: 'Events',
    dashboard_description: 'What is sent, how much of it, and by which library.',
    tags: ['events'],
    date_from: '-7d',
    tiles: [
      insight('Events', 'All events by day.', trends('total', 'day', null)),
      insight('Events by name', 'How often each event is sent.', {
        kind: 'HogQLQuery',
        query:
          'select event, count() as events, uniq(person_id) as persons, max(timestamp) as last_seen from events where {filters} group by event order by events desc limit 100',
        filters: {},
      }),
      insight('Events by library', 'Which SDKs send.', bars('total', '$lib', null)),
      insight('Feature flag calls', 'Calls of feature flags by flag.', {
        ...bars('total', '$feature_flag', FLAG_CALLED),
      }),
    ],
  }),
  template({
    id: '0b7e7a52-5d0f-4a52-9a54-6f1d2c3b4a04',
    key: 'SIGN_UPS',
    template_name: 'Sign-ups',
    dashboard_description:
      'How visitors become known: by $identify, which SDKs send at a sign-up. Put an event of your own in its place.',
    tags: ['sign-ups'],
    date_from: '-30d',
    tiles: [
      insight(
        'Sign-ups',
        'Persons who are known for the first time, by day.',
        trends('first_time_for_user', 'day', IDENTIFY),
      ),
      insight('From visit to sign-up', 'Visitors who sign up within two weeks.', SIGN_UP_FUNNEL),
      insight('Rate by day', 'Share of the visitors of a day who sign up.', {
        ...SIGN_UP_FUNNEL,
        interval: 'day',
        funnelsFilter: { ...SIGN_UP_FUNNEL.funnelsFilter, funnelVizType: 'trends' },
      }),
      insight('Time until sign-up', 'From the first view to the sign-up.', {
        ...SIGN_UP_FUNNEL,
        funnelsFilter: { ...SIGN_UP_FUNNEL.funnelsFilter, funnelVizType: 'time_to_convert' },
      }),
      insight(
        'Sign-ups by source',
        'Persons by referring site.',
        bars('dau', '$referring_domain', IDENTIFY),
      ),
      insight('Return after sign-up', 'Persons of a week who come back in later weeks.', {
        kind: 'RetentionQuery',
        retentionFilter: {
          period: 'Week',
          totalIntervals: 8,
          retentionType: 'retention_first_time',
          targetEntity: { id: IDENTIFY, type: 'events' },
          returningEntity: { id: PAGEVIEW, type: 'events' },
        },
      }),
    ],
  }),
  template({
    id: '0b7e7a52-5d0f-4a52-9a54-6f1d2c3b4a05',
    key: 'FEATURE_FLAGS',
    template_name: 'Feature flags',
    dashboard_description: 'Which flags are called, by how many persons, and what they answer.',
    tags: ['flags'],
    date_from: '-14d',
    tiles: [
      insight('Calls by day', 'Calls of feature flags, by flag.', {
        ...trends('total', 'day', FLAG_CALLED),
        breakdownFilter: { breakdown: '$feature_flag', breakdown_type: 'event' },
      }),
      insight('Persons by flag', 'Persons who call each flag.', {
        ...bars('dau', '$feature_flag', FLAG_CALLED),
      }),
      insight(
        'Answers',
        'Answers of flags: variants, true and false.',
        bars('total', '$feature_flag_response', FLAG_CALLED),
      ),
      insight('Calls by library', 'Which SDKs ask.', bars('total', '$lib', FLAG_CALLED)),
      insight('Flags and answers', 'Persons per answer of each flag, and when it was last asked.', {
        kind: 'HogQLQuery',
        query:
          "select properties.$feature_flag as flag, properties.$feature_flag_response as answer, uniq(person_id) as persons, count() as calls, max(timestamp) as last_call from events where event = '$feature_flag_called' and {filters} group by flag, answer order by flag, persons desc limit 200",
        filters: {},
      }),
    ],
  }),
]

/** Finds a template by its key or its name. */
export function findTemplate(name: string): DashboardTemplate | null {
  return TEMPLATES.find((one) => one.key === name || one.template_name === name) ?? null
}

type TemplateDraft = Omit<DashboardTemplate, 'dashboard_filters'> & { readonly date_from: string }

/** Lays tiles out two in a row. */
function template({ date_from, tiles, ...rest }: TemplateDraft): DashboardTemplate {
  const placed = tiles.map((tile, index) => {
    const sm = { x: (index % 2) * 6, y: Math.floor(index / 2) * 5, w: 6, h: 5, minW: 3, minH: 5 }
    return { ...tile, layouts: { sm } }
  })
  return { ...rest, dashboard_filters: { date_from }, tiles: placed }
}

function insight(
  name: string,
  description: string,
  source: { readonly kind: string; readonly [member: string]: Json },
): TemplateTile {
  const kind = source.kind === 'HogQLQuery' ? 'DataVisualizationNode' : 'InsightVizNode'
  const query = { kind, source }
  return { type: 'INSIGHT', name, description, query, layouts: {}, color: null }
}

/** One series of an event; null for all events. */
function series(math: string, event: string | null = PAGEVIEW): Json {
  return [{ kind: 'EventsNode', event, name: event ?? 'All events', math }]
}

function trends(math: string, interval: string, event: string | null = PAGEVIEW) {
  return { kind: 'TrendsQuery', series: series(math, event), interval }
}

/** Totals by a property of the event. */
function bars(math: string, breakdown: string, event: string | null = PAGEVIEW) {
  return {
    ...trends(math, 'day', event),
    breakdownFilter: { breakdown, breakdown_type: 'event' },
    trendsFilter: { display: 'ActionsBarValue' },
  }
}
