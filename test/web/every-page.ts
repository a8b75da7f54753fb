/** EVERY_PAGE: each page of a project with its address, for tests that hold for all of them. */
import type { Interface } from './interface.ts'

/** What some addresses need. */
export type PageIds = {
  readonly project: number
  readonly board_id: number
  readonly person_id: string
  readonly insight_id: string
  readonly group_key: string
  readonly flag_id: number
  readonly cohort_id: number
  readonly event_id: string
  readonly property_id: string
  readonly action_id: number
  readonly survey_id: string
  readonly experiment_id: number
}

export type TestedPage = {
  readonly name: string
  readonly path: (ids: PageIds) => string
  /** A selector of what is there once the answers are drawn. */
  readonly drawn: string
  /** What the page says in a project without events; missing where it needs a thing to show. */
  readonly empty?: string
}

const DAILY = {
  kind: 'TrendsQuery',
  series: [{ kind: 'EventsNode', event: '$pageview' }],
  interval: 'day',
  dateRange: { date_from: '-7d' },
}
const BY_EVENT = {
  kind: 'HogQLQuery',
  query: 'select event, count() as n from events group by event order by event',
}

const hashOf = (query: object): string => `#q=${encodeURIComponent(JSON.stringify(query))}`

/** Adding a page of the interface means adding a line. */
export const EVERY_PAGE: readonly TestedPage[] = [
  {
    name: 'Web',
    path: ({ project }) => `/p/${project}/web`,
    drawn: 'table th[scope=row]',
    empty: 'No events yet',
  },
  {
    name: 'Explore',
    path: ({ project }) => `/p/${project}/explore`,
    drawn: 'main button',
    empty: 'What do you want to know?',
  },
  {
    name: 'a chart',
    path: ({ project }) => `/p/${project}/explore${hashOf(DAILY)}`,
    drawn: '[role=slider]',
    empty: 'Page view',
  },
  {
    name: 'an insight',
    path: ({ project, insight_id }) => `/p/${project}/insights/${insight_id}`,
    drawn: '[role=slider]',
  },
  {
    name: 'Events',
    path: ({ project }) => `/p/${project}/events`,
    drawn: 'tbody tr',
    empty: 'No events yet',
  },
  {
    name: 'Persons',
    path: ({ project }) => `/p/${project}/persons`,
    drawn: 'tbody tr',
    empty: 'Get started',
  },
  {
    name: 'a person',
    path: ({ project, person_id }) => `/p/${project}/persons/${person_id}`,
    drawn: 'section[aria-label=History] h2',
  },
  {
    name: 'a group',
    path: ({ project, group_key }) =>
      `/p/${project}/persons/group/0/${encodeURIComponent(group_key)}`,
    drawn: 'tbody tr',
  },
  {
    name: 'SQL',
    path: ({ project }) => `/p/${project}/sql${hashOf(BY_EVENT)}`,
    drawn: 'td',
    empty: '0 rows',
  },
  { name: 'Boards', path: ({ project }) => `/p/${project}/boards`, drawn: 'main ul a' },
  {
    name: 'saved insights',
    path: ({ project }) => `/p/${project}/boards?show=insights`,
    drawn: 'main ul a',
    empty: 'No saved insights yet',
  },
  {
    name: 'a board',
    path: ({ project, board_id }) => `/p/${project}/boards/${board_id}`,
    drawn: 'article figure',
  },
  {
    name: 'Flags',
    path: ({ project }) => `/p/${project}/flags`,
    drawn: 'main ul li',
    empty: 'No flags yet',
  },
  {
    name: 'a flag',
    path: ({ project, flag_id }) => `/p/${project}/flags/${flag_id}`,
    drawn: 'main ol li strong',
  },
  {
    name: 'Experiments',
    path: ({ project }) => `/p/${project}/experiments`,
    drawn: 'main ul li',
    empty: 'No experiments yet',
  },
  {
    name: 'an experiment',
    path: ({ project, experiment_id }) => `/p/${project}/experiments/${experiment_id}`,
    drawn: 'main li tbody tr',
  },
  {
    name: 'Cohorts',
    path: ({ project }) => `/p/${project}/cohorts`,
    drawn: 'main ul li',
    empty: 'No cohorts yet',
  },
  {
    name: 'a cohort',
    path: ({ project, cohort_id }) => `/p/${project}/cohorts/${cohort_id}`,
    drawn: 'main ol li',
  },
  {
    name: 'Surveys',
    path: ({ project }) => `/p/${project}/surveys`,
    drawn: 'main ul li',
    empty: 'No surveys yet',
  },
  {
    name: 'a survey',
    path: ({ project, survey_id }) => `/p/${project}/surveys/${survey_id}`,
    drawn: 'main ol li',
  },
  {
    name: 'Data',
    path: ({ project }) => `/p/${project}/data`,
    drawn: 'main ul li',
    empty: 'No events yet',
  },
  {
    name: 'the properties of data',
    path: ({ project }) => `/p/${project}/data/properties`,
    drawn: 'main ul li',
    empty: 'No properties yet',
  },
  {
    name: 'actions',
    path: ({ project }) => `/p/${project}/data/actions`,
    drawn: 'main ul li',
    empty: 'No actions yet',
  },
  {
    name: 'a described event',
    path: ({ project, event_id }) => `/p/${project}/data/events/${event_id}`,
    drawn: 'main dl dd',
  },
  {
    name: 'a described property',
    path: ({ project, property_id }) => `/p/${project}/data/properties/${property_id}`,
    drawn: 'main dl dd',
  },
  {
    name: 'an action',
    path: ({ project, action_id }) => `/p/${project}/data/actions/${action_id}`,
    drawn: 'main ol li',
  },
  {
    name: 'Alerts',
    path: ({ project }) => `/p/${project}/alerts`,
    drawn: 'main ul li',
    empty: 'No alerts yet',
  },
  {
    name: 'Start',
    path: ({ project }) => `/p/${project}/start`,
    drawn: 'h2',
    empty: 'Waiting for the first event',
  },
  {
    name: 'Settings',
    path: ({ project }) => `/p/${project}/settings/people`,
    drawn: 'main ul li',
    empty: 'People',
  },
]

const SURVEY = {
  name: 'Feedback',
  type: 'popover',
  questions: [{ type: 'open', question: 'What can we do better?' }],
}

/** Makes the board, the insight, the alert, the survey and the experiment that some pages show. */
export async function fillPages(ui: Interface): Promise<PageIds> {
  const post = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    return (await ui.api(`/api/projects/${ui.project}/${path}`, init)) as Readonly<
      Record<string, unknown>
    >
  }
  const template = { name: 'Everything', use_template: 'Product analytics' }
  const { id: board_id } = await post('dashboards/', template)
  const query = { kind: 'InsightVizNode', source: DAILY }
  const { id, short_id } = await post('insights/', { name: 'Daily views', saved: true, query })
  await post('alerts/', {
    insight: id,
    name: 'Far too many',
    config: { type: 'TrendsAlertConfig', series_index: 0 },
    condition: { type: 'absolute_value' },
    threshold: { configuration: { type: 'absolute', bounds: { upper: 1 } } },
  })
  await post('actions/', { name: 'Reads', steps: [{ event: '$pageview', url: '/' }] })
  const experiment = await post('experiments/', {
    name: 'The new editor',
    feature_flag_key: 'new-editor',
    start_date: new Date(Date.now() - 90 * 86_400_000).toISOString(),
    metrics: [
      {
        kind: 'ExperimentMetric',
        metric_type: 'mean',
        source: { kind: 'EventsNode', event: 'document_created' },
      },
    ],
  })
  const { results } = (await ui.api(`/api/projects/${ui.project}/persons/?limit=1`)) as {
    readonly results: readonly { readonly uuid: string }[]
  }
  const groups = (await ui.api(
    `/api/projects/${ui.project}/groups/?group_type_index=0&limit=1`,
  )) as {
    readonly results: readonly { readonly group_key: string }[]
  }
  const firstIn = async (family: string): Promise<number | string | undefined> => {
    const path = `/api/projects/${ui.project}/${family}/?limit=1`
    const list = (await ui.api(path)) as {
      readonly results: readonly { readonly id: number | string }[]
    }
    return list.results[0]?.id
  }
  const firstId = async (family: string): Promise<number> => Number((await firstIn(family)) ?? 0)
  return {
    project: ui.project,
    board_id: Number(board_id),
    insight_id: String(short_id),
    person_id: results[0]?.uuid ?? '',
    group_key: groups.results[0]?.group_key ?? '',
    flag_id: await firstId('feature_flags'),
    cohort_id: await firstId('cohorts'),
    event_id: String(await firstIn('event_definitions')),
    property_id: String(await firstIn('property_definitions')),
    action_id: await firstId('actions'),
    survey_id: String((await post('surveys/', SURVEY))['id']),
    experiment_id: Number(experiment['id']),
  }
}
