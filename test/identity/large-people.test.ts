/** Persons and groups that are made large on purpose: what they cost, and what is left out of them. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { MergeBudget } from '../../src/identity/merge-budget.ts'
import { fits, sizeAfter } from '../../src/identity/size.ts'
import { measure } from '../../src/storage/persons/person-store.ts'
import { Folder } from '../ingest/folder.ts'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})
afterEach(() => folder.remove())

const SLOW_MS = 60_000

const names = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`)
const numbered = (count: number, value: unknown = 1) =>
  Object.fromEntries(names(count).map((name) => [name, value]))
const seen = (distinct_id: string, properties: object = {}) => ({
  event: 'seen',
  distinct_id,
  properties,
})
const merge = (distinct_id: string, alias: string) => ({
  event: '$merge_dangerously',
  distinct_id,
  properties: { alias },
})
const groupIdentify = (properties: object) => ({
  event: '$groupidentify',
  distinct_id: 'd',
  properties: { $group_type: 'company', $group_key: 'k', $group_set: properties },
})

describe('the size of properties', () => {
  test('after a change is what measuring them would say', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.dictionary(fc.string(), fc.integer()),
    )
    const key = fc.oneof(fc.constantFrom('a', 'b', 'c', 'é', '"', '1'), fc.string())
    const properties = fc.dictionary(key, value, { noNullPrototype: true })
    fc.assert(
      fc.property(properties, properties, fc.array(key), (stored, set, unset) => {
        const known = { ...stored, kept: 1 }
        const gone = new Set(unset.filter((name) => Object.hasOwn({ ...known, ...set }, name)))
        gone.delete('kept')
        const after: Record<string, unknown> = { ...known, ...set }
        for (const name of gone) delete after[name]
        const size = sizeAfter(measure(known, null), known, { set, unset: gone })
        expect(size).toEqual(measure(after, null))
      }),
    )
  })

  test('may shrink where it is beyond the limit already', () => {
    const limits = { bytes_max: 100, properties_max: 2 }
    expect(fits({ bytes: 50, count: 3 }, { bytes: 60, count: 4 }, limits)).toBe(true)
    expect(fits({ bytes: 50, count: 3 }, { bytes: 40, count: 2 }, limits)).toBe(false)
    expect(fits({ bytes: 101, count: 1 }, { bytes: 90, count: 1 }, limits)).toBe(false)
  })
})

describe('a wide person', () => {
  test(
    'costs each of ten thousand events no more than what they change',
    async () => {
      // 600 kB; parsing or measuring all of it takes 5 ms, which ten thousand times is a minute.
      await folder.batch(seen('wide', { $set: numbered(1900, 'x'.repeat(300)) }))
      const started = performance.now()
      const small = Array.from({ length: 10_000 }, (_, index) =>
        seen('wide', index % 2 === 0 ? { $set: { p1: index } } : { $unset: ['p2', 'p3', 'none'] }),
      )
      await folder.batch(...small)
      expect(performance.now() - started).toBeLessThan(15_000)
      const { properties } = folder.person('wide') ?? {}
      expect(properties).toMatchObject({ p1: 9998, p4: 'x'.repeat(300) })
      expect(properties).not.toHaveProperty('p2')
      expect(folder.warnings().filter((type) => type !== 'ingestion_capacity_overflow')).toEqual([])
    },
    SLOW_MS,
  )

  test('is measured by what changes also where it is nearly full', async () => {
    await folder.batch(seen('full', { $set: { a: 'x'.repeat(655_000), b: 'y'.repeat(200) } }))
    await folder.batch(
      ...Array.from({ length: 300 }, (_, index) => seen('full', { $set: { b: `z${index}` } })),
      seen('full', { $set: { c: 'x'.repeat(1000) } }),
      seen('full', { $set: { c: 'kept' } }),
    )
    const { properties } = folder.person('full') ?? {}
    expect(properties).toMatchObject({ b: 'z299', c: 'kept' })
    expect(folder.warnings()).toEqual(['person_properties_size_violation'])
  })

  test('has no more than two thousand properties, and keeps what it has', async () => {
    await folder.batch(seen('u', { $set: numbered(1990) }))
    await folder.batch(seen('u', { $set: { ...numbered(20), more: 1, p0: 'kept' } }))
    await folder.batch(
      seen('u', { $set: Object.fromEntries(names(20).map((n) => [`new ${n}`, 1])) }),
    )
    await folder.batch(seen('u', { $set: { last: 1 }, $unset: ['p1'] }))
    const { properties = {} } = folder.person('u') ?? {}
    expect(properties).toMatchObject({ more: 1, p0: 'kept', last: 1 })
    expect(properties).not.toHaveProperty('new p1')
    expect(Object.keys(properties)).toHaveLength(1992)
    expect(folder.warnings()).toEqual(['person_properties_size_violation'])
    expect(folder.events()).toHaveLength(4)
  })

  test('is identified by an event that sets more than any person may have, and keeps what it has', async () => {
    const set = { ...numbered(10_001), plan: 'lost' }
    const named = {
      event: '$identify',
      distinct_id: 'u',
      properties: { $anon_distinct_id: 'anon', $os: 'iOS', $set: set },
    }
    await folder.batch(seen('u', { $set: { plan: 'kept' } }), named)
    await folder.batch(seen('u', { $unset: [...names(10_001), 'plan'] }))
    await folder.batch(seen('u', { $set: { deep: { text: 'x'.repeat(700_000) } } }))
    const { properties, is_identified } = folder.person('u') ?? {}
    expect(properties).toMatchObject({ plan: 'kept', $os: 'iOS' })
    expect(properties).not.toHaveProperty('p1')
    expect(properties).not.toHaveProperty('deep')
    expect(is_identified).toBe(true)
    expect(folder.warnings()).toEqual(['person_properties_size_violation'])
    expect(folder.events().at(-1)?.properties['$set']).toBeDefined()
  })

  test('keeps its own where another does not fit beside them', async () => {
    await folder.batch(seen('a', { $set: numbered(1500) }), seen('b', { $set: { x: 1 } }))
    const other = Object.fromEntries(names(1500).map((name) => [`other ${name}`, 1]))
    await folder.batch(seen('c', { $set: other }), merge('a', 'b'), merge('a', 'c'))
    const { properties = {} } = folder.person('c') ?? {}
    expect(properties).toMatchObject({ p1: 1, x: 1 })
    expect(properties).not.toHaveProperty('other p1')
  })
})

describe('a wide group', () => {
  test(
    'costs each of thousands of events no more than what they change',
    async () => {
      await folder.batch(groupIdentify(numbered(1900, 'x'.repeat(300))))
      const started = performance.now()
      await folder.batch(
        ...Array.from({ length: 5000 }, (_, index) => groupIdentify({ p1: index })),
      )
      expect(performance.now() - started).toBeLessThan(15_000)
      const [row] = folder.rows('select properties, created_at, updated_at from groups')
      expect(JSON.parse(String(row?.['properties']))).toMatchObject({
        p1: 4999,
        p2: 'x'.repeat(300),
      })
    },
    SLOW_MS,
  )

  test('stays as it is where it would grow beyond its limits', async () => {
    await folder.batch(groupIdentify({ a: 'x'.repeat(400_000) }))
    await folder.batch(groupIdentify({ b: 'x'.repeat(400_000) }), groupIdentify({ c: 1 }))
    await folder.batch(groupIdentify(numbered(2001)))
    const [row] = folder.rows('select properties from groups')
    expect(Object.keys(JSON.parse(String(row?.['properties'])))).toEqual(['a', 'c'])
    expect(folder.warnings()).toEqual(['group_properties_size_violation'])
    expect(folder.events()).toHaveLength(4)
  })
})

describe('a person with thousands of ids', () => {
  const ids = Array.from({ length: 3000 }, (_, index) => `id ${index}`)

  test(
    'is led from one small person into the next once, then stays where it is',
    async () => {
      await folder.batch(...ids.map((id) => merge('crowd', id)))
      const chain = Array.from({ length: 10 }, (_, index) =>
        merge(`small ${index}`, index === 0 ? 'crowd' : `small ${index - 1}`),
      )
      const smalls = chain.map(({ distinct_id }) => seen(distinct_id))
      const answer = await folder.batch(...smalls, ...chain, seen('crowd', { $set: { a: 1 } }))
      expect(answer).toMatchObject({ kind: 'stored', accepted: 21 })
      const crowd = folder.partition().filter((set) => set.includes('crowd'))
      expect(crowd).toEqual([[...ids, 'crowd', 'small 0'].toSorted()])
      expect(folder.person('small 0')?.properties).toMatchObject({ a: 1 })
      // Further ones join small persons only, which costs what their events cost.
      expect(folder.partition()).toHaveLength(2)
      expect(new Set(folder.warnings())).toEqual(
        new Set(['cannot_merge_large_person', 'ingestion_capacity_overflow']),
      )
    },
    SLOW_MS,
  )
})

describe('the rows that merges of a project move', () => {
  const SECOND_US = 1_000_000

  test('come back with time, and those of another project are its own', () => {
    const budget = new MergeBudget()
    expect(budget.take(1, 4000, 0)).toBe(true)
    expect(budget.take(1, 4000, 0)).toBe(false)
    expect(budget.take(2, 4000, 0)).toBe(true)
    // What was refused has been counted.
    expect(budget.roomOf(1, 0)).toBe(600)
    expect(budget.take(1, 2600, 2 * SECOND_US)).toBe(true)
    expect(budget.roomOf(1, 3600 * SECOND_US)).toBe(5000)
  })

  test('are not counted where they are few, and clocks that go back give nothing', () => {
    const budget = new MergeBudget()
    expect(budget.take(1, 5000, SECOND_US)).toBe(true)
    expect(budget.take(1, 11, 0)).toBe(false)
    for (let merges = 0; merges < 1000; merges += 1) expect(budget.take(1, 10, 0)).toBe(true)
  })
})
