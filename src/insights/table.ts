/** Insight answers as flat tables: a row per series, bucket, edge or item, for exports. */

import { Refusal } from '../errors.ts'
import { isObject } from '../json.ts'
import { mapInSlices } from '../threads/sliced-json.ts'
import { Slices } from '../threads/slices.ts'
import type { InsightAnswer } from './insight.ts'

export type InsightTable = {
  readonly columns: readonly string[]
  /** ClickHouse type names, '' where unknown. */
  readonly types: readonly string[]
  /** JSON values, which may be lists and objects. */
  readonly rows: readonly (readonly unknown[])[]
}

type InsightMembers = Readonly<Record<string, unknown>>

/** Every bucket is a column; wider tables are useless. */
const COLUMNS_MAX = 1000

/** An answer as a table, made in slices. Refuses (`query_too_large`) tables that are too wide. */
export async function tableOfInsight({
  results,
  metadata = {},
}: InsightAnswer): Promise<InsightTable> {
  const { columns } = metadata
  const table =
    isTexts(columns) && isRows(results)
      ? await pairsApart({ columns, types: typesOf(metadata['types'], columns), rows: results })
      : await tableOfItems(itemsOf(results))
  if (table.columns.length <= COLUMNS_MAX) return table
  const detail = `The answer has ${table.columns.length} columns, which is more than ${COLUMNS_MAX}. Ask for longer steps of time.`
  throw new Refusal('query_too_large', detail)
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
const isRows = (value: unknown): value is readonly (readonly unknown[])[] =>
  Array.isArray(value) && value.every((item) => Array.isArray(item))
/** Types alone, or in pairs with column names. */
function typesOf(value: unknown, columns: readonly string[]): readonly string[] {
  const types: readonly unknown[] = Array.isArray(value) ? value : []
  return columns.map((_, index) => {
    const type: unknown = Array.isArray(types[index]) ? types[index][1] : types[index]
    return typeof type === 'string' ? type : ''
  })
}

/** Web tables have a figure and its comparison in one cell; files get a column for each. */
const COMPARED = 'context.columns.'

async function pairsApart(table: InsightTable): Promise<InsightTable> {
  const { columns, types, rows } = table
  const is_pair = columns.map(
    (name, index) =>
      name.startsWith(COMPARED) &&
      rows.length > 0 &&
      rows.every((row) => Array.isArray(row[index]) && row[index].length === 2),
  )
  const spread = <T>(values: readonly T[], parts: (value: T) => readonly T[]): readonly T[] =>
    values.flatMap((value, index) => (is_pair[index] ? parts(value) : [value]))
  return {
    columns: spread(columns, (name) => [name, `${name}_previous`]),
    types: spread(types, (type) => [type, type]),
    rows: await mapInSlices(rows, (row) =>
      spread(row, (cell) => (Array.isArray(cell) ? cell : [cell])),
    ),
  }
}

/** The items of the rows. Funnels with a breakdown are lists of lists. */
function itemsOf(results: unknown): readonly InsightMembers[] {
  if (isObject(results)) {
    const list = LISTS.find((name) => Array.isArray(results[name]))
    return list === undefined ? [results] : itemsOf(results[list])
  }
  if (!Array.isArray(results)) return []
  return results.flatMap((item: unknown) => {
    if (isObject(item)) return [item]
    if (Array.isArray(item) && item.every(isObject)) return item
    return [binOf(item)]
  })
}

/** The members with the list, in answers that are not lists: heatmaps, times to convert, correlations. */
const LISTS = ['data', 'bins', 'events']

/** A bin `[seconds, count]` as members. */
function binOf(item: unknown): InsightMembers {
  const [from_s, count]: readonly unknown[] = Array.isArray(item) ? item : [item]
  return { from_s, count }
}

/** Members that repeat the query, and those whose numbers become columns. */
const LEFT_OUT: ReadonlySet<string> = new Set(['action', 'filter', 'people'])
const STEPS: ReadonlySet<string> = new Set(['data', 'days', 'labels'])

/** Columns: the members of all items, then their buckets, each in order of appearance. */
async function tableOfItems(items: readonly InsightMembers[]): Promise<InsightTable> {
  const members = await mapInSlices(items, (item) => ({
    plain: plainMembers(item),
    steps: stepsOf(item),
  }))
  const plain = await keysOf(members.map((row) => row.plain))
  const steps = await keysOf(members.map((row) => row.steps))
  if (plain.length === 0) return { columns: ['results'], types: [''], rows: [] }
  return {
    columns: [...plain, ...steps],
    types: [...plain.map(() => ''), ...steps.map(() => 'Float64')],
    rows: await mapInSlices(members, (row) => [
      ...plain.map((name) => row.plain.get(name) ?? null),
      ...steps.map((name) => row.steps.get(name) ?? null),
    ]),
  }
}

/** The keys of all maps, each once, in order of appearance. */
async function keysOf(maps: readonly ReadonlyMap<string, unknown>[]): Promise<readonly string[]> {
  const slices = new Slices()
  const keys = new Set<string>()
  for (const map of maps) {
    for (const key of map.keys()) keys.add(key)
    if (slices.isOver()) await slices.end()
  }
  return [...keys]
}

function plainMembers(item: InsightMembers): ReadonlyMap<string, unknown> {
  const is_series = Array.isArray(item['data'])
  const is_counted = isCounted(item['values'])
  const members = Object.entries(item).filter(
    ([name]) =>
      !LEFT_OUT.has(name) && !(is_series && STEPS.has(name)) && !(is_counted && name === 'values'),
  )
  return new Map(members)
}

/** Numbers by their day or label. */
function stepsOf({ data, days, labels, values }: InsightMembers): ReadonlyMap<string, unknown> {
  if (isCounted(values)) return new Map(values.map(({ label, count }) => [String(label), count]))
  if (!Array.isArray(data)) return new Map()
  const names = isTexts(days) ? days : labels
  if (!Array.isArray(names)) return new Map()
  return new Map(data.map((number: unknown, index) => [String(names[index] ?? index), number]))
}

/** Whether a value is the list of a retention row. */
const isCounted = (values: unknown): values is readonly InsightMembers[] =>
  Array.isArray(values) && values.every((value) => isObject(value) && 'count' in value)
