/** One form for what two engines answer: numbers as numbers, tuples as arrays, maps as objects, nothing behind the dot of a whole second. */

import type { Json } from '@duckdb/node-api'

/** The normal form of a value of the engine's JSON or of ClickHouse's. Floats keep ten digits. */
export function normalForm(value: Json): Json {
  if (typeof value === 'number')
    return Number.isInteger(value) ? value : Number(value.toPrecision(10))
  if (typeof value === 'string') return normalText(value)
  if (Array.isArray(value)) return isEntries(value) ? fromEntries(value) : value.map(normalForm)
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value)
  const tuple = keys.length > 0 && keys.every((key, index) => key === String(index + 1))
  if (tuple) return Object.values(value).map(normalForm)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalForm(item)]))
}

function normalText(text: string): Json {
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  if (/^-?\d+\.\d+(e[+-]?\d+)?$/.test(text)) return Number(Number(text).toPrecision(10))
  if (text === 'NaN') return 'nan'
  if (/^-?Infinity$/.test(text)) return text.replace('Infinity', 'inf')
  return text.replace(/^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d*[1-9])?)\.?0*$/, '$1')
}

type Entry = { readonly key: Json; readonly value: Json }

function isEntries(list: readonly Json[]): list is readonly (Json & Entry)[] {
  return (
    list.length > 0 &&
    list.every(
      (item) => typeof item === 'object' && item !== null && 'key' in item && 'value' in item,
    )
  )
}

function fromEntries(list: readonly (Json & Entry)[]): Json {
  return Object.fromEntries(
    list.map(({ key, value }) => [JSON.stringify(key).replaceAll('"', ''), normalForm(value)]),
  )
}
