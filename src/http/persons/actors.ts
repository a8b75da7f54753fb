/**
 * The persons behind a number of an insight, as lists of persons: JSON with the next page's address, or CSV.
 */

import { ActorsQuery } from '../../contract/insights/actors.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/settings/project.ts'
import { prepareQuery } from '../../query/kinds/query-kinds.ts'
import { mapInSlices, parseRows, writeArray } from '../../threads/sliced-json.ts'
import { uuidBytes } from '../../uuid.ts'
import {
  answerForCaller,
  type QueryCall,
  queryContext,
} from '../analytics/queries/query-context.ts'
import { answerJsonWithRaw, RawJson } from '../answers/answers.ts'
import type { PageRequest } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { type Fault, validatorOf } from '../bodies/shape.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import { serializePerson } from './person-serializer.ts'

/** The most persons of one page. */
const PAGE_MAX = 1000

const QUERY = validatorOf(ActorsQuery, refuseParameter)

/** The source, the page, and further members of the envelope. */
type ActorsRequest = {
  /** A source of an ActorsQuery; its shape is checked here. */
  readonly source: object
  readonly page: PageRequest
  readonly search: string | null
  /** Whether each person comes with a count, the largest first. */
  readonly has_counts?: boolean
  /** The address of the page that starts at an item. */
  readonly address: (at: number) => string
  readonly more?: (result: { readonly missing: number }) => object
}

/** Answers a page of persons. Refuses what the query's kind refuses, naming the parameter. */
export async function answerActors(
  app: AppContext,
  call: QueryCall,
  { source, page, search, has_counts = false, address, more }: ActorsRequest,
): Promise<Response> {
  const format = listFormat(call.request)
  const limit = Math.min(page.limit, PAGE_MAX)
  const query = QUERY.require({
    kind: 'ActorsQuery',
    select: has_counts ? ['person', 'event_count'] : ['person'],
    ...(has_counts && { orderBy: ['event_count DESC'] }),
    source,
    search,
    limit,
    offset: page.offset,
  })
  const answer = await askPeople(app, call, query)
  const shown = await mapInSlices(answer.results, ([person, count = null]) =>
    onWire(app, call.project, person).map((one) => ({ ...one, value_at_data_point: count })),
  )
  const persons = shown.flat()
  if (format === 'csv') return answerCsv(persons, ['id', 'name'])
  const people = new RawJson(Buffer.concat(await writeArray(persons)))
  return answerJsonWithRaw({
    results: [{ people, count: persons.length }],
    next: answer.hasMore ? address(page.offset + limit) : null,
    ...more?.({ missing: answer.missing_actors_count }),
  })
}

type ActorsAnswer = {
  readonly results: readonly (readonly unknown[])[]
  readonly hasMore: boolean
  readonly missing_actors_count: number
}

async function askPeople(
  app: AppContext,
  call: QueryCall,
  query: ReturnType<typeof QUERY.require>,
): Promise<ActorsAnswer> {
  const overrides = { filters: null, variables: null }
  try {
    const { results, members } = await answerForCaller(app, call, () =>
      prepareQuery(query, overrides, queryContext(app, call)),
    )
    const head: Omit<ActorsAnswer, 'results'> = JSON.parse(members)
    return { ...head, results: results === null ? [] : await parseRows(results) }
  } catch (error) {
    throw error instanceof Refusal ? ofParameter(error) : error
  }
}

/** Serializes a person; actors without a profile are left out. */
function onWire(app: AppContext, project: Project, person: unknown): readonly object[] {
  if (typeof person !== 'object' || person === null) return []
  const { id, properties, created_at, is_identified }: Partial<Record<string, unknown>> = {
    ...person,
  }
  if (typeof created_at !== 'string' || typeof properties !== 'object') return []
  return [
    serializePerson(app, project, {
      id: uuidBytes(String(id)),
      created_at: Date.parse(created_at) * 1000,
      properties: { ...properties },
      is_identified: is_identified === true,
    }),
  ]
}

/** Renames the refusal's field to the query parameter: callers here do not see the query. */
function ofParameter(refusal: Refusal): Refusal {
  const attr = refusal.attr === null ? null : parameterOf(refusal.attr.split('__'))
  return new Refusal(refusal.code, refusal.detail, {
    attr,
    retry_after_s: refusal.retry_after_s ?? 0,
  })
}

function refuseParameter({ path, detail }: Fault): Refusal {
  return new Refusal('invalid_input', detail, { attr: parameterOf(path) })
}

/** The parameter behind each member of a query; others have the same name. */
const PARAMETERS: Readonly<Record<string, string>> = {
  day: 'target_date',
  series: 'events',
  status: 'lifecycle_type',
  funnelWindowInterval: 'funnel_window_interval',
  funnelWindowIntervalUnit: 'funnel_window_interval_unit',
  funnelOrderType: 'funnel_order_type',
  funnelCorrelationType: 'funnel_correlation_type',
  samplingFactor: 'sampling_factor',
}

function parameterOf(path: readonly string[]): string | null {
  const stored = path.find((part) => Object.hasOwn(PARAMETERS, part))
  if (stored !== undefined) return PARAMETERS[stored] ?? null
  return path.findLast((part) => !/^(query|source|\d+)$/.test(part)) ?? null
}
