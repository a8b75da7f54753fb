/** Makes vectors out of templates: `substring({str}, {small})` runs through each pool while the others stand on their first value. */

import { readFileSync } from 'node:fs'
import { POOLS, type PoolValue } from './pools.ts'

/** One expression for both engines, of a function, in a zone. */
export type Vector = {
  readonly name: string
  readonly hogql: string
  readonly clickhouse: string
  readonly timezone: string
  /** HogQL with its holes: vectors of one template differ in values alone. */
  readonly template: string
}

/** Zones with summer time, on both sides of Greenwich, and one off by half an hour. */
const ZONES: readonly string[] = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata']

const HOLE = /\{([a-z]\w*)\}/g

/** All vectors of a table `<name>.tsv`: function name, template, and ClickHouse's template where it differs. */
export function readVectors(table: string): readonly Vector[] {
  return readLines(table).flatMap(([name = '', hogql = '', clickhouse = hogql]) =>
    vectorsOf(name, hogql, clickhouse),
  )
}

/** All queries of a table: HogQL's text, and ClickHouse's where it differs; `properties.$x` is quoted for ClickHouse. */
export function readPairs(table: string): readonly Pick<Vector, 'clickhouse' | 'hogql'>[] {
  return readLines(table).map(([hogql = '', clickhouse = hogql]) => ({
    hogql,
    clickhouse: clickhouse.replace(/\bproperties\.(\$\w+)/g, 'properties.`$1`'),
  }))
}

function readLines(table: string): readonly (readonly string[])[] {
  return readFileSync(new URL(`./${table}.tsv`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
}

function vectorsOf(name: string, hogql: string, clickhouse: string): readonly Vector[] {
  const pools = [...hogql.matchAll(HOLE)].map(([, pool = '']) => poolOf(pool))
  const zones = /\{(dt|dtus|when|date)\}/.test(hogql) || name.startsWith('@') ? ZONES : ['UTC']
  return choices(pools).flatMap((chosen) =>
    zones.map((timezone) => ({
      name: name.replace('@', ''),
      hogql: fill(
        hogql,
        chosen.map((value) => (typeof value === 'string' ? value : value[0])),
      ),
      clickhouse: fill(
        clickhouse,
        chosen.map((value) => (typeof value === 'string' ? value : value[1])),
      ),
      timezone,
      template: hogql,
    })),
  )
}

function poolOf(name: string): readonly PoolValue[] {
  const pool = POOLS[name]
  if (pool === undefined) throw new Error(`no pool ${name}`)
  return pool
}

/** One argument varies at a time; the others stand on their first value. */
function choices(pools: readonly (readonly PoolValue[])[]): readonly (readonly PoolValue[])[] {
  const first = pools.map((pool) => pool[0] ?? '')
  const varied = pools.flatMap((pool, at) =>
    pool.slice(1).map((value) => first.map((other, index) => (index === at ? value : other))),
  )
  return [first, ...varied]
}

function fill(template: string, chosen: readonly string[]): string {
  let next = 0
  return template.replace(HOLE, () => chosen[next++] ?? '')
}
