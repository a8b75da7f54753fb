/** The people behind a number, as lists of people show them: JSON with the address of the next page, or CSV (wire §6). */
import { ActorsQuery } from '../../contract/insights/actors.ts'
import { Refusal } from '../../errors.ts'
import type { Project } from '../../projects/project.ts'
import { prepareQuestion } from '../../query/run.ts'
import { answerJson } from '../answers.ts'
import { IDLE_TIMEOUT_S } from '../endpoint.ts'
import type { Needs } from '../needs.ts'
import type { Page } from '../pages.ts'
import { askingOf } from '../questions/asking.ts'
import type { Asked } from '../questions/trees.ts'
import { type Fault, shapeOf } from '../shape.ts'
import { answerCsv, listFormat } from './lists-as-csv.ts'
import { personOnWire } from './person-wire.ts'

/** The most persons of one page. */
const PAGE_MAX = 1000

const QUESTION = shapeOf(ActorsQuery, refuseParameter)

/** Which people, which page of them, and what else an envelope says. */
export type PeopleAsked = {
  /** A source of an ActorsQuery; its shape is checked here. */
  readonly source: object
  readonly page: Page
  readonly search: string | null
  /** The address of the page that starts at an item. */
  readonly address: (at: number) => string
  readonly more?: (found: { readonly missing: number }) => object
}

/** Answers a page of people. Refuses what the question's kind refuses, naming the parameter. */
export async function answerPeople(
  needs: Needs,
  asked: Asked,
  { source, page, search, address, more }: PeopleAsked,
): Promise<Response> {
  const format = listFormat(asked.request)
  const limit = Math.min(page.limit, PAGE_MAX)
  const question = QUESTION.require({
    kind: 'ActorsQuery',
    select: ['person'],
    source,
    search,
    limit,
    offset: page.offset,
  })
  const answer = await askPeople(needs, asked, question)
  const people = answer.results.flatMap(([person]) => onWire(needs, asked.project, person))
  if (format === 'csv') return answerCsv(people, ['id', 'name'])
  return answerJson({
    results: [{ people, count: people.length }],
    next: answer.hasMore ? address(page.offset + limit) : null,
    ...more?.({ missing: answer.missing_actors_count }),
  })
}

type Answer = {
  readonly results: readonly (readonly unknown[])[]
  readonly hasMore: boolean
  readonly missing_actors_count: number
}

async function askPeople(
  needs: Needs,
  asked: Asked,
  question: ReturnType<typeof QUESTION.require>,
): Promise<Answer> {
  const { asker, request, socket } = asked
  const leave = needs.key_limits.enter(asker.id)
  // A question may take longer than a silent connection is kept.
  socket?.timeout(request, 0)
  try {
    const overrides = { filters: null, variables: null }
    const prepared = prepareQuestion(question, overrides, askingOf(needs, asked))
    const body = await needs.questions.ask(prepared, {
      mode: 'force_blocking',
      client_query_id: null,
      signal: request.signal,
    })
    return JSON.parse(new TextDecoder().decode(body))
  } catch (error) {
    throw error instanceof Refusal ? ofParameter(error) : error
  } finally {
    socket?.timeout(request, IDLE_TIMEOUT_S)
    leave()
  }
}

/** Those who have no profile are no persons that a list could show. */
function onWire(needs: Needs, project: Project, person: unknown): readonly object[] {
  if (typeof person !== 'object' || person === null) return []
  const { id, properties, created_at, is_identified }: Partial<Record<string, unknown>> = {
    ...person,
  }
  if (typeof created_at !== 'string' || typeof properties !== 'object') return []
  return [
    personOnWire(needs, project, {
      id: Uint8Array.fromHex(String(id).replaceAll('-', '')),
      created_at: Date.parse(created_at) * 1000,
      properties: { ...properties },
      is_identified: is_identified === true,
    }),
  ]
}

/** Callers here know parameters, not the members of the question they were put into. */
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

/** Where each member of a question came from; others have kept their names. */
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
  const known = path.find((part) => Object.hasOwn(PARAMETERS, part))
  if (known !== undefined) return PARAMETERS[known] ?? null
  return path.findLast((part) => !/^(query|source|\d+)$/.test(part)) ?? null
}
