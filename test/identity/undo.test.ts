/** Merges undone and persons split: everybody is what they would be without (issue of wire.md 2.4, 4.8). */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { SPLIT_LENGTH_MAX } from '../../src/identity/changes.ts'
import { personIdOf } from '../../src/identity/distinct-id.ts'
import { Folder } from '../ingest/folder.ts'
import { limitOf } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'
import { PeopleModel, type Values } from './person-model.ts'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})
afterEach(() => folder.remove())

const idOf = (distinct_id: string) => personIdOf(1, distinct_id)
const hex = (distinct_id: string) => idOf(distinct_id).toHex()
const seen = (distinct_id: string, $set: object = {}, timestamp?: string) => ({
  event: 'seen',
  distinct_id,
  properties: { $set },
  ...(timestamp === undefined ? {} : { timestamp }),
})
const identify = (distinct_id: string, anon: string) => ({
  event: '$identify',
  distinct_id,
  properties: { $anon_distinct_id: anon },
})
const merge = (distinct_id: string, other: string) => ({
  event: '$merge_dangerously',
  distinct_id,
  properties: { alias: other },
})
const alias = (distinct_id: string, other: string) => ({
  ...merge(distinct_id, other),
  event: '$create_alias',
})

const split = (distinct_id: string, main_distinct_id: string | null = null) =>
  folder.capture.changePerson({
    kind: 'split',
    project_id: 1,
    person_id: idOf(distinct_id),
    main_distinct_id,
  })
const undo = (distinct_id: string, merge_id: number | null = null) =>
  folder.capture.changePerson({
    kind: 'undo_merge',
    project_id: 1,
    person_id: idOf(distinct_id),
    merge_id,
  })
const remove = (distinct_id: string, with_events = false) =>
  folder.capture.changePerson({
    kind: 'delete',
    project_id: 1,
    person_id: idOf(distinct_id),
    with_events,
    now: 5,
  })

/** Every event's distinct id with whom a query finds it under. */
const peopleOfEvents = () =>
  folder
    .rows(`select e.distinct_id, lower(hex(coalesce(l.person_id, o.person_id, e.person_id))) person
       from events e
       left join person_overrides o on o.project_id = e.project_id and o.old_person_id = e.person_id
       left join distinct_id_overrides l on l.project_id = e.project_id and l.distinct_id = e.distinct_id
       order by seq`)
    .map((row) => [row['distinct_id'], row['person']])

/** Everything there is about persons, without the counters that only ever grow. */
const everything = () => ({
  persons: folder
    .rows(
      'select hex(id) id, created_at, properties, is_identified from persons where is_deleted = 0 order by 1',
    )
    .map((row) => ({ ...row, properties: JSON.parse(String(row['properties'])) })),
  ids: folder.rows(
    "select distinct_id, hex(person_id) person, hex(coalesce(home_id, '')) home, is_main from distinct_ids order by 1",
  ),
  flags: folder.rows(
    'select hex(person_id) person, flag_key, hash_key from flag_overrides order by 1, 2',
  ),
  cohorts: folder.rows('select hex(person_id) person, cohort_id from cohort_people order by 1, 2'),
  merges: folder.rows(
    'select hex(into_id) into_id, hex(other_id) other_id, kept, given, was_confirmed, into_was_identified, into_created_at from merges order by id',
  ),
})

describe('an undone merge', () => {
  test('gives both persons back as they were, with all events of their ids', async () => {
    await folder.batch(
      seen('anon', { a: 'anon', b: 'anon' }, '2026-01-01'),
      seen('user', { b: 'user' }, '2026-02-01'),
      alias('user', 'main'),
    )
    await folder.capture.storeOverrides([
      { project_id: 1, person_id: idOf('anon'), flag_key: 'f', hash_key: 'anon' },
      { project_id: 1, person_id: idOf('anon'), flag_key: 'g', hash_key: 'anon' },
      { project_id: 1, person_id: idOf('user'), flag_key: 'g', hash_key: 'user' },
    ])
    for (const cohort_id of [1, 2]) {
      const added = cohort_id === 1 ? [idOf('anon')] : [idOf('anon'), idOf('user')]
      await folder.capture.changeCohort({ project_id: 1, cohort_id, added, removed: [] })
    }
    const before = everything()
    await folder.batch(identify('user', 'anon'), seen('anon'), seen('user'))
    expect(everything()).not.toEqual(before)
    expect(folder.rows('select 1 from cohort_people')).toHaveLength(2)
    const outcome = await undo('user')
    expect(outcome).toEqual({ kind: 'changed', persons: [idOf('user'), idOf('anon')] })
    expect(everything()).toEqual(before)
    expect(peopleOfEvents()).toEqual(
      ['anon', 'user', 'user', 'user', 'anon', 'user'].map((id) => [id, hex(id)]),
    )
  })

  // Writing the later merge once per property took half a minute, and everybody's events waited for it.
  test('takes thousands of properties back from whoever the survivor became', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 9000 }, (_, index) => [`property ${index}`, `some value ${index}`]),
    )
    await folder.batch(seen('anon', many), seen('user', { own: 1 }), seen('other'))
    const before = everything()
    await folder.batch(merge('user', 'anon'), merge('other', 'user'))
    const merges = folder.rows('select id from merges order by id')
    await undo('other', Number(merges[0]?.['id']))
    await undo('other')
    const { persons } = everything()
    const withoutClaims = (all: readonly object[]) =>
      all.map((person) => ({ ...person, is_identified: 0 }))
    expect(withoutClaims(persons)).toEqual(withoutClaims(before.persons))
  })

  test('leaves what was set since, and ids that came since, with the person that was left', async () => {
    await folder.batch(seen('anon', { a: 1, b: 1 }), seen('user', {}), identify('user', 'anon'))
    await folder.batch(seen('anon', { b: 2, c: 3 }), identify('user', 'late'))
    await undo('user')
    expect(folder.partition()).toEqual([['anon'], ['late', 'user']])
    expect(folder.person('anon')).toMatchObject({
      properties: { a: 1, b: 1 },
      is_identified: false,
    })
    expect(folder.person('anon')?.properties).not.toHaveProperty('c')
    expect(folder.person('user')).toMatchObject({ properties: { b: 2, c: 3 }, is_identified: true })
    expect(folder.person('user')?.properties).not.toHaveProperty('a')
  })

  test('can be made again, and undone again', async () => {
    await folder.batch(seen('anon', { a: 1 }), seen('user', { b: 1 }))
    const apart = everything()
    await folder.batch(identify('user', 'anon'))
    const together = everything()
    for (let round = 0; round < 3; round++) {
      await undo('user')
      expect(everything()).toEqual(apart)
      await folder.batch(identify('user', 'anon'))
      expect(everything()).toEqual(together)
    }
  })

  test('in the middle of a chain takes only its own part', async () => {
    await folder.batch(seen('a', { x: 'a', y: 'a' }), seen('b', { y: 'b' }), seen('c', { z: 'c' }))
    await folder.batch(merge('b', 'a'))
    await folder.batch(seen('a'))
    await folder.batch(merge('c', 'b'))
    await folder.batch(seen('a'), seen('b'))
    await undo('c', 1)
    expect(folder.partition()).toEqual([['a'], ['b', 'c']])
    expect(folder.person('a')?.properties).toMatchObject({ x: 'a', y: 'a' })
    expect(folder.person('c')?.properties).toMatchObject({ y: 'b', z: 'c' })
    expect(folder.person('c')?.properties).not.toHaveProperty('x')
    expect(
      new Set(
        peopleOfEvents()
          .filter(([id]) => id === 'a')
          .map(([, person]) => person),
      ),
    ).toEqual(new Set([hex('a')]))
    await undo('c')
    expect(folder.partition()).toEqual([['a'], ['b'], ['c']])
    expect(folder.person('b')?.properties).not.toHaveProperty('x')
    expect(peopleOfEvents()).toEqual(peopleOfEvents().map(([id]) => [id, hex(String(id))]))
  })

  test('that another project or person asks for is not found', async () => {
    await folder.batch(seen('anon'), seen('user'), seen('third'), identify('user', 'anon'))
    expect(await undo('third', 1)).toEqual({ kind: 'no_such_merge' })
    expect(await undo('third')).toEqual({ kind: 'no_such_merge' })
    expect(await undo('user', 99)).toEqual({ kind: 'no_such_merge' })
    const elsewhere = {
      kind: 'undo_merge',
      project_id: 2,
      person_id: idOf('user'),
      merge_id: 1,
    } as const
    expect(await folder.capture.changePerson(elsewhere)).toEqual({ kind: 'not_found' })
    expect(folder.partition()).toEqual([['anon', 'user'], ['third']])
  })

  test('claims personless events that its ids sent', async () => {
    const personless = {
      event: 'x',
      distinct_id: 'shy',
      properties: { $process_person_profile: false },
    }
    await folder.batch(personless, seen('a'), identify('a', 'shy'), seen('user'))
    await folder.batch(merge('user', 'a'))
    expect(peopleOfEvents().map(([, person]) => person)).toEqual(
      Array.from({ length: 5 }, () => hex('user')),
    )
    await undo('user')
    expect(folder.partition()).toEqual([['a', 'shy'], ['user']])
    expect(peopleOfEvents()).toEqual([
      ['shy', hex('a')],
      ['a', hex('a')],
      ['a', hex('a')],
      ['user', hex('user')],
      ['user', hex('user')],
    ])
  })

  test('is written once and survives a restart', async () => {
    await folder.batch(seen('anon', { a: 1 }), seen('user'), identify('user', 'anon'))
    await undo('user')
    const before = everything()
    await folder.capture.close()
    await folder.open()
    await folder.batch(seen('anon', { b: 1 }))
    expect(folder.person('anon')?.properties).toMatchObject({ a: 1, b: 1 })
    expect(everything().ids).toEqual(before.ids)
  })

  test(
    'whatever else was merged and undone, leaves what the merges that stay would have made',
    async () => {
      const names = ['a', 'b', 'c', 'd', 'e']
      const name = fc.constantFrom(...names)
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ kind: fc.constant('merge'), one: name, other: name }) },
        {
          weight: 2,
          arbitrary: fc.record({
            kind: fc.constant('set'),
            one: name,
            other: fc.constantFrom('x', 'y'),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            kind: fc.constant('undo'),
            one: fc.nat(20).map(String),
            other: name,
          }),
        },
        { weight: 1, arbitrary: fc.record({ kind: fc.constant('split'), one: name, other: name }) },
      )
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14 }), async (steps) => {
          run += 1
          await checkAgainstModel(`${run}-`, names, steps)
        }),
        randomRuns(8),
      )
    },
    limitOf(120_000),
  )

  test('leaves who was claimed meanwhile identified, whichever merges go after it', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const merges = ['b d', 'c a', 'b a', 'a c', 'a e'].map((pair) => pair.split(' '))
    await checkAgainstModel('', names, [
      ...merges.map(([one = '', other = '']) => ({ kind: 'merge', one, other })),
      ...['6', '11', '0'].map((one) => ({ kind: 'undo', one, other: 'a' })),
    ])
  })
})

type Step = { readonly kind: string; readonly one: string; readonly other: string }

async function checkAgainstModel(
  prefix: string,
  names: readonly string[],
  steps: readonly Step[],
): Promise<void> {
  const model = new PeopleModel()
  await bearAll(model, prefix, names)
  const numbers = new Map<number, number>()
  for (const [index, { kind, one, other }] of steps.entries()) {
    if (kind === 'set') {
      model.set(one, other, index)
      await folder.batch(seen(prefix + one, { [other]: index }))
    } else if (kind === 'merge' && one !== other) {
      model.merge(one, other)
      await folder.batch(merge(prefix + one, prefix + other))
      const last = model.merges.at(-1)
      const row = folder.rows('select max(id) id from merges')[0]
      if (last !== undefined && !numbers.has(last)) numbers.set(last, Number(row?.['id']))
    } else if (kind === 'undo') {
      const chosen = model.merges[Number(one) % Math.max(1, model.merges.length)]
      if (chosen === undefined) continue
      const [into] = folder.rows(
        'select hex(into_id) id from merges where id = ?',
        numbers.get(chosen) ?? 0,
      )
      const ended = await undoByRoot(String(into?.['id']), numbers.get(chosen) ?? 0)
      expect(ended).toBe('changed')
      model.undo(chosen)
    } else if (kind === 'split') {
      const root = model.ownerOf(one)
      if (!model.merges.length) continue
      const has_merges = names.some((name) => name !== root && model.ownerOf(name) === root)
      if (!has_merges) continue
      expect((await split(prefix + root)).kind).toBe('changed')
      model.split(one)
    }
    expectAgreement(model, prefix, names)
  }
}

/** Asks the living person at the end of the road. */
async function undoByRoot(into_hex: string, merge_id: number): Promise<string> {
  let id = into_hex
  for (;;) {
    const [away] = folder.rows('select hex(into_id) id from merges where hex(other_id) = ?', id)
    if (away === undefined) break
    id = String(away['id'])
  }
  const person_id = Uint8Array.fromHex(id)
  const outcome = await folder.capture.changePerson({
    kind: 'undo_merge',
    project_id: 1,
    person_id,
    merge_id,
  })
  return outcome.kind
}

async function bearAll(
  model: PeopleModel,
  prefix: string,
  names: readonly string[],
): Promise<void> {
  for (const [index, name] of names.entries()) {
    const $set: Values = {
      x: `${name}-x`,
      [`only-${name}`]: [name],
      ...(index % 2 === 0 ? { y: name } : {}),
    }
    await folder.batch(seen(prefix + name, $set, `2026-01-0${index + 1}`))
    const person_id = idOf(prefix + name)
    const flags: Values = index < 3 ? { f: name, [`f-${name}`]: name } : {}
    await folder.capture.storeOverrides(
      Object.entries(flags).map(([flag_key, hash_key]) => ({
        project_id: 1,
        person_id,
        flag_key,
        hash_key: String(hash_key),
      })),
    )
    const cohorts: Values = index > 1 ? { 7: true, [20 + index]: true } : {}
    for (const cohort_id of Object.keys(cohorts).map(Number)) {
      await folder.capture.changeCohort({
        project_id: 1,
        cohort_id,
        added: [person_id],
        removed: [],
      })
    }
    model.bear(name, {
      properties: $set,
      flags,
      cohorts,
      created_at: Date.UTC(2026, 0, index + 1) * 1000,
      is_identified: false,
    })
  }
}

function expectAgreement(model: PeopleModel, prefix: string, names: readonly string[]): void {
  const stored: Record<string, unknown> = {}
  for (const name of names) {
    const [row] = folder.rows(
      'select properties, created_at, is_identified from persons where hex(id) = ? and is_deleted = 0',
      hex(prefix + name).toUpperCase(),
    )
    if (row === undefined) continue
    const { $creator_event_uuid: _event, ...properties } = JSON.parse(String(row['properties']))
    const of = (sql: string) =>
      folder.rows(`${sql} where hex(person_id) = ?`, hex(prefix + name).toUpperCase())
    stored[name] = {
      properties,
      created_at: row['created_at'],
      is_identified: row['is_identified'] === 1,
      flags: Object.fromEntries(
        of('select flag_key, hash_key from flag_overrides').map((one) => [
          one['flag_key'],
          one['hash_key'],
        ]),
      ),
      cohorts: Object.fromEntries(
        of('select cohort_id from cohort_people').map((one) => [one['cohort_id'], true]),
      ),
    }
  }
  expect(stored).toEqual({ ...model.people() })
  const own = peopleOfEvents().filter(([id]) => String(id).startsWith(prefix))
  const expected = own.map(([id]) => [
    id,
    hex(prefix + model.ownerOf(String(id).slice(prefix.length))),
  ])
  expect(own).toEqual(expected)
  expect(
    folder.rows(
      'select 1 from distinct_ids d left join persons p on p.project_id = d.project_id and p.id = d.person_id where p.is_deleted is not 0',
    ),
  ).toEqual([])
}

describe('a split', () => {
  test('of a person that was merged gives everybody back as they were', async () => {
    await folder.batch(seen('a', { x: 1 }), seen('b', { y: 1 }), seen('c', { z: 1 }))
    const before = everything()
    await folder.batch(merge('b', 'a'), merge('c', 'b'))
    expect(folder.partition()).toEqual([['a', 'b', 'c']])
    expect((await split('c')).kind).toBe('changed')
    expect(everything()).toEqual(before)
  })

  test('of one that never was gives each further id a person of its own', async () => {
    await folder.batch(
      seen('user', { a: 1 }, '2026-01-05'),
      alias('user', 'two'),
      alias('user', 'three'),
    )
    await folder.batch(seen('two'))
    expect(await split('user')).toEqual({
      kind: 'changed',
      persons: [idOf('user'), idOf('three'), idOf('two')],
    })
    expect(folder.partition()).toEqual([['three'], ['two'], ['user']])
    expect(folder.person('user')).toMatchObject({ properties: { a: 1 }, is_identified: true })
    expect(folder.person('two')).toEqual({
      id: hex('two'),
      properties: {},
      is_identified: false,
      created_at: '2026-01-05T00:00:00.000Z',
    })
    expect(peopleOfEvents().at(-1)).toEqual(['two', hex('two')])
    await folder.batch(seen('two', { b: 1 }))
    expect(folder.person('two')?.properties).toMatchObject({ b: 1 })
    await folder.batch(merge('user', 'two'))
    expect(
      peopleOfEvents()
        .filter(([id]) => id === 'two')
        .map(([, person]) => person),
    ).toEqual([hex('user'), hex('user')])
  })

  test('leaves the person to the id that is named, and ids that are not its own are refused', async () => {
    await folder.batch(seen('user', { a: 1 }), alias('user', 'two'), seen('other'))
    expect(await split('user', 'other')).toEqual({ kind: 'no_such_id' })
    await split('user', 'two')
    expect(folder.person('two')).toMatchObject({ id: hex('user'), properties: { a: 1 } })
    const fresh = folder.person('user')
    expect(fresh?.properties).toEqual({})
    expect(fresh?.id).not.toBe(hex('user'))
    expect(peopleOfEvents()[0]).toEqual(['user', fresh?.id])
  })

  test(
    'of one made of more than is given back at once is refused, and its merges can still be undone',
    async () => {
      const $set = { large: 'x'.repeat(600_000) }
      const parts = Array.from(
        { length: Math.ceil(SPLIT_LENGTH_MAX / 600_000) },
        (_, index) => `part ${index}`,
      )
      await folder.batch(seen('user'))
      for (const part of parts) await folder.batch(seen(part, $set), merge('user', part))
      const before = everything()
      expect(await split('user')).toEqual({ kind: 'too_many' })
      expect(everything()).toEqual(before)
      expect((await undo('user')).kind).toBe('changed')
      expect(folder.partition()).toHaveLength(2)
      expect((await split('user')).kind).toBe('changed')
      expect(folder.partition()).toHaveLength(parts.length + 1)
      expect(folder.person('part 3')?.properties).toMatchObject($set)
    },
    limitOf(300_000),
  )

  test('of a person with one id changes nothing', async () => {
    await folder.batch(seen('a', { x: 1 }))
    const before = everything()
    expect(await split('a')).toEqual({ kind: 'changed', persons: [idOf('a')] })
    expect(everything()).toEqual(before)
  })

  test('leaves nobody who joins an id with events but no profile with whom it was split from', async () => {
    const shy = { event: 'x', distinct_id: 'shy', properties: { $process_person_profile: false } }
    await folder.batch(seen('user'), shy, identify('user', 'shy'))
    await split('user', 'user')
    await folder.batch(merge('shy', 'third'), seen('third'))
    expect(folder.partition()).toEqual([['shy', 'third'], ['user']])
    expect(peopleOfEvents().at(-1)).toEqual(['third', hex('shy')])
  })
})

describe('a deleted person', () => {
  test('is gone with all that was merged into it; its id makes a new one', async () => {
    await folder.batch(seen('a', { secret: 1 }), seen('b', { secret: 2 }), merge('b', 'a'))
    await remove('b')
    expect(folder.partition().flat()).toEqual(['a', 'b'])
    expect(folder.person('a')).toBeNull()
    expect(folder.rows('select 1 from merges')).toEqual([])
    expect(folder.rows("select 1 from persons where properties like '%secret%'")).toEqual([])
    await folder.batch(seen('a', { fresh: 1 }))
    expect(folder.person('a')?.properties).toMatchObject({ fresh: 1 })
    expect(folder.person('a')?.properties).not.toHaveProperty('secret')
    expect(folder.person('b')).toBeNull()
    expect(await remove('b')).toEqual({ kind: 'not_found' })
  })

  test('leaves nobody who is led to it: an id that joined it without a profile makes a new one', async () => {
    const shy = { event: 'x', distinct_id: 'shy', properties: { $process_person_profile: false } }
    await folder.batch(seen('user'), shy, identify('user', 'shy'))
    await remove('user')
    await folder.batch(seen('shy'), seen('user'))
    expect(peopleOfEvents().slice(-2)).toEqual([
      ['shy', hex('shy')],
      ['user', hex('user')],
    ])
  })

  test('with its events leaves the order to remove them, in the same commit', async () => {
    await folder.batch(seen('a'), seen('b'), merge('b', 'a'), seen('c'))
    await remove('b', true)
    expect(
      folder.rows(
        'select project_id, up_to_seq, person_ids, distinct_ids, created_at from event_removals',
      ),
    ).toEqual([
      {
        project_id: 1,
        up_to_seq: 4,
        person_ids: JSON.stringify([hex('b'), hex('a')]),
        distinct_ids: JSON.stringify(['a', 'b']),
        created_at: 5,
      },
    ])
  })

  test('whose id somebody else kept in a split comes back as somebody new', async () => {
    await folder.batch(seen('user', { a: 1 }), alias('user', 'two'))
    await split('user', 'two')
    const lone = folder.person('user')
    const person_id = Uint8Array.fromHex(lone?.id ?? '')
    await folder.capture.changePerson({
      kind: 'delete',
      project_id: 1,
      person_id,
      with_events: false,
      now: 5,
    })
    await folder.batch(seen('user', { b: 1 }))
    expect(folder.person('two')).toMatchObject({ id: hex('user'), properties: { a: 1 } })
    expect(folder.person('user')?.properties).toMatchObject({ b: 1 })
    expect(peopleOfEvents().at(-1)).toEqual(['user', folder.person('user')?.id])
  })
})
