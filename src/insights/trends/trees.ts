/** Trends as trees: one pass over the events for every line, with all values it is split by. */
import type { Expr, SelectQuery } from '../../hogql/ast.ts'
import type { JoinExpr } from '../../hogql/ast-parts.ts'
import {
  alias,
  call,
  compare,
  constant,
  field,
  joinOf,
  or,
  order,
  tuple,
} from '../../hogql/nodes.ts'
import { NO_VALUE, OTHER_VALUES } from '../breakdown.ts'
import { allOf, eventsOf } from '../conditions.ts'
import { expr, select } from '../tree.ts'
import {
  type Asked,
  bucketColumn,
  eventsCondition,
  isCumulative,
  splitColumns,
  splitNames,
} from './asked.ts'
import { firstTimeTree } from './first-time.ts'
import { type Aggregate, actorOfSeries, mathOf } from './math.ts'
import { recentActorsTree, windowEndingAt } from './recent.ts'

/**
 * The numbers of a line: rows of a step (`bucket`, not for totals), what the events are split by (`split_0`, …) and the
 * `value`. Values beyond the most that are told apart are summed as one.
 */
export function trendsTree(asked: Asked): SelectQuery {
  const values = valuesTree(asked)
  return asked.split.length === 0 ? values : rankedTree(asked, values)
}

/** The numbers of all values, however many. */
function valuesTree(asked: Asked): SelectQuery {
  const math = mathOf(asked.series, asked.range.interval)
  switch (math.kind) {
    case 'events':
      return eventsTree(asked, math.value)
    case 'actors':
      if (isCumulative(asked.question)) return newActorsTree(asked)
      return distinctActorsTree(asked)
    case 'recent_actors':
      if (asked.is_total)
        return distinctActorsTree({ ...asked, range: windowEndingAt(asked, math.days) })
      return recentActorsTree(asked, math.days)
    case 'per_actor':
      return perActorTree(asked, math.aggregate)
    case 'per_session':
      return perSessionTree(asked, math)
    case 'first_time':
      return firstTimeTree(asked, math.first)
  }
}

function distinctActorsTree(asked: Asked): SelectQuery {
  return eventsTree(asked, expr`count(distinct ${actorOfSeries(asked.series)})`)
}

function eventsTree(asked: Asked, value: Expr): SelectQuery {
  const tree = select`select ${[...keyColumns(asked), alias(value, 'value')]}
    from ${eventsOf(asked.question)} where ${eventsCondition(asked)}`
  return { ...tree, group_by: keyNames(asked) }
}

function perActorTree(asked: Asked, aggregate: Aggregate): SelectQuery {
  const keys = keyNames(asked)
  const actor = alias(actorOfSeries(asked.series), 'actor')
  const counts = select`select ${[...keyColumns(asked), actor]}, count() as events
    from ${eventsOf(asked.question)} where ${eventsCondition(asked)}
    group by ${[...keys, field(['actor'])]}`
  return grouped(keys, aggregate(field(['events'])), counts)
}

function perSessionTree(
  asked: Asked,
  { of, aggregate }: { readonly of: Expr; readonly aggregate: Aggregate },
): SelectQuery {
  const keys = keyNames(asked)
  const counts = select`select ${[...keyColumns(asked), expr`$session_id`]}, any(${of}) as number
    from ${eventsOf(asked.question)} where ${eventsCondition(asked)} and $session_id != ''
    group by ${[...keys, expr`$session_id`]}`
  return grouped(keys, aggregate(field(['number'])), counts)
}

/** Each actor in the first step of theirs: the running sum of these is how many there were so far. */
function newActorsTree(asked: Asked): SelectQuery {
  const names = splitNames(asked)
  const first = alias(call('min', [field(['bucket'])]), 'first_bucket')
  const seen = select`select ${[...keyColumns(asked), alias(actorOfSeries(asked.series), 'actor')]}
    from ${eventsOf(asked.question)} where ${eventsCondition(asked)}
    group by ${[...keyNames(asked), field(['actor'])]}`
  const firsts = select`select ${[...names, field(['actor']), first]} from ${seen}
    group by ${[...names, field(['actor'])]}`
  const columns = [alias(field(['first_bucket']), 'bucket'), ...names]
  const tree = select`select ${columns}, count() as value from ${firsts}`
  return { ...tree, group_by: [field(['first_bucket']), ...names] }
}

/** `select keys, value from rows group by keys`, also for no keys. */
function grouped(keys: readonly Expr[], value: Expr, rows: SelectQuery): SelectQuery {
  const columns = [...keys, alias(expr`ifNull(${value}, 0)`, 'value')]
  return { ...select`select ${columns} from ${rows}`, group_by: keys }
}

/** The step of an event where there are steps, and what it is split by. */
function keyColumns(asked: Asked): readonly Expr[] {
  return asked.is_total ? splitColumns(asked) : [bucketColumn(asked), ...splitColumns(asked)]
}

function keyNames(asked: Asked): readonly Expr[] {
  return asked.is_total ? splitNames(asked) : [field(['bucket']), ...splitNames(asked)]
}

/** The values that are told apart, as rows of `split_0`, … and `total`, read from rows of `valuesTree`. */
function rankingTree(asked: Asked, values: JoinExpr | SelectQuery): SelectQuery {
  const names = splitNames(asked)
  const nones = names.map((name) => compare(name, '==', constant(NO_VALUE)))
  const ranking = select`select ${names}, sum(value) as total from ${values} group by ${names}
    limit ${constant(BigInt(asked.values_max))}`
  return {
    ...ranking,
    order_by: [
      // What has no value is told apart last.
      order(or(nones) ?? constant(false)),
      order(field(['total']), 'DESC'),
      ...names.map((name) => order(name)),
    ],
  }
}

/** The condition that texts of what the line is split by are not told apart: they count among all others. */
export function isAmongOthers(asked: Asked, texts: readonly Expr[]): Expr {
  const [only] = texts
  if (only === undefined) return constant(false)
  const told = select`select ${splitNames(asked)} from ${rankingTree(asked, valuesTree(asked))}`
  return compare(texts.length === 1 ? only : tuple(texts), 'not in', told)
}

/** The values with the largest sums, each by itself, and the rest as one. */
function rankedTree(asked: Asked, values: SelectQuery): SelectQuery {
  const told = asked.split.map((_, index) => field(['told', `split_${index}`]))
  const ranked = asked.split.map((_, index) => field(['ranked', `split_${index}`]))
  const same = allOf(...told.map((name, index) => compare(ranked[index] ?? name, '==', name)))
  const shown = told.map((_, index) => field([`shown_${index}`]))
  const columns = told.map((name, index) =>
    alias(expr`if(isNull(ranked.total), ${constant(OTHER_VALUES)}, ${name})`, `shown_${index}`),
  )
  const bucket = asked.is_total ? [] : [field(['told', 'bucket'])]
  const tree = select`with told as (select 1), ranked as (select 1)
    select ${[...bucket, ...columns]}, sum(told.value) as value
    from told left join ranked on ${same}
    group by ${[...bucket, ...shown]}`
  const contents = { told: values, ranked: rankingTree(asked, joinOf(field(['told']))) }
  return {
    ...tree,
    ctes: tree.ctes.map((cte) => ({
      ...cte,
      expr: cte.name === 'told' ? contents.told : contents.ranked,
    })),
  }
}
