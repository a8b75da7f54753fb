/** What a list of insights is narrowed by: the parameter, and which insights its value leaves (wire §4.10). */
import type { Insight, InsightHead } from '../../boards/insight.ts'
import { type DateContext, readDate } from '../../insights/dates.ts'
import { isMembers, listOf, truthOf } from '../../insights/old-filters.ts'
import { queryValues } from '../pages.ts'

/** An insight to be chosen from; `type` is read where a request asks for one. */
export type Listed = InsightHead & {
  readonly dashboards: readonly number[]
  readonly type: () => unknown
}

/** Whose list it is, and what its dates are read against. */
export type ListContext = DateContext & { readonly user_id: number }

type Sent = Readonly<Record<string, string>>
type Wish = (sent: Sent, name: string, context: ListContext) => (insight: Listed) => boolean

const WISHES: Readonly<Record<string, Wish>> = {
  search: (sent, name) => {
    const wanted = sent[name]?.toLowerCase() ?? ''
    return ({ name: own, description, tags }) =>
      [own ?? '', description, ...tags].join('\n').toLowerCase().includes(wanted)
  },
  short_id: (sent, name) => (insight) => insight.short_id === sent[name],
  saved: (sent, name) => (insight) => String(insight.saved) === sent[name],
  favorited: (sent, name) => (insight) => String(insight.favorited) === sent[name],
  dashboard: (sent, name) => (insight) => insight.dashboards.includes(Number(sent[name])),
  dashboards: (sent, name) => {
    const wanted = listOf(sent, name).map(Number)
    return ({ dashboards }) => wanted.every((id) => dashboards.includes(id))
  },
  tags: (sent, name) => {
    const wanted = new Set(listOf(sent, name))
    return ({ tags }) => tags.some((tag) => wanted.has(tag))
  },
  /** One id, or a list of them. */
  created_by: (sent, name) => {
    const text = sent[name] ?? ''
    const wanted = new Set(text.startsWith('[') ? listOf(sent, name).map(Number) : [Number(text)])
    return ({ created_by }) => created_by !== null && wanted.has(created_by)
  },
  /** Those of whoever asks. */
  user: (sent, name, { user_id }) => {
    const is_wanted = truthOf(sent, name)
    return ({ created_by }) => !is_wanted || created_by === user_id
  },
  insight: (sent, name) => (insight) => insight.type() === sent[name],
  date_from: after('last_modified_at'),
  date_to: before('last_modified_at'),
  created_date_from: after('created_at'),
  created_date_to: before('created_at'),
}

/** The insights that a request asks for. Refuses what is no list and no date, naming the parameter. */
export function wantedInsights(
  request: Request,
  insights: readonly Listed[],
  context: ListContext,
): readonly Listed[] {
  const sent = queryValues(request)
  const wishes = Object.entries(WISHES).flatMap(([name, wishFor]) =>
    (sent[name] ?? '') === '' ? [] : [wishFor(sent, name, context)],
  )
  return insights.filter((insight) => wishes.every((wish) => wish(insight)))
}

function after(member: 'created_at' | 'last_modified_at'): Wish {
  return (sent, name, context) => {
    const from_us = readDate(sent[name] ?? '', context, name)
    return (insight) => BigInt(insight[member].getTime()) * 1000n >= from_us
  }
}

function before(member: 'created_at' | 'last_modified_at'): Wish {
  return (sent, name, context) => {
    const to_us = readDate(sent[name] ?? '', context, name)
    return (insight) => BigInt(insight[member].getTime()) * 1000n <= to_us
  }
}

/** What lists call each kind of question. */
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['FunnelsQuery', 'FUNNELS'],
  ['HogQLQuery', 'SQL'],
  ['LifecycleQuery', 'LIFECYCLE'],
  ['PathsQuery', 'PATHS'],
  ['RetentionQuery', 'RETENTION'],
  ['StickinessQuery', 'STICKINESS'],
  ['TrendsQuery', 'TRENDS'],
])

/** The type of an insight, by its query below its wrappers or by its old filters. */
export function typeOfInsight({ query, filters }: Pick<Insight, 'filters' | 'query'>): unknown {
  if (query === null) return isMembers(filters) ? (filters['insight'] ?? 'TRENDS') : null
  const asked = isMembers(query) && isMembers(query['source']) ? query['source'] : query
  return TYPES.get(isMembers(asked) ? asked['kind'] : null) ?? 'JSON'
}
