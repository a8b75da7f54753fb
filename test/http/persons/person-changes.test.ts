/** Persons changed by hand through the management API, and what is noted of it. */
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

let world: World
let run = 0
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())
beforeEach(() => {
  run += 1
})

const PERSONS = '/api/environments/1/persons/'
/** Ids of this test alone. */
const own = (id: string) => `${id}-${run}`
const seen = (id: string, $set: object = {}) => ({
  event: 'seen',
  distinct_id: own(id),
  properties: { $set },
})
const identify = (id: string, anon: string) => ({
  event: '$identify',
  distinct_id: own(id),
  properties: { $anon_distinct_id: own(anon) },
})

type Person = {
  readonly id: string
  readonly distinct_ids: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
  readonly is_identified: boolean
}

async function personOf(id: string): Promise<Person | undefined> {
  const { body } = await manage(world, 'GET', `${PERSONS}?distinct_id=${own(id)}`)
  return (body['results'] as Person[])[0]
}
async function idOf(id: string): Promise<string> {
  const person = await personOf(id)
  if (person === undefined) throw new Error(`nobody has ${id}`)
  return person.id
}
const change = async (id: string, what: string, body?: object, method = 'POST') => {
  const answer = await manage(world, method, `${PERSONS}${await idOf(id)}/${what}`, body)
  world.needs.persons.refresh()
  return answer
}
const activity = async (person_id: string) => {
  const { body } = await manage(world, 'GET', `${PERSONS}${person_id}/activity/`)
  return body['results'] as Readonly<Record<string, unknown>>[]
}
const eventsBy = async () => {
  const query = `select distinct_id, person_id, count() from events where distinct_id like '%-${run}' and event != '$identify' group by 1, 2 order by 1`
  const { body } = await manage(world, 'POST', '/api/environments/1/query/', {
    query: { kind: 'HogQLQuery', query },
    refresh: 'force_blocking',
  })
  return body['results']
}

describe('properties of a person', () => {
  test('are set by PATCH, PUT and update_property, and taken by delete_property', async () => {
    await capture(world, seen('u', { a: 1, b: 1 }))
    const patched = await change('u', '', { properties: { a: 2, email: 'u@x.example' } }, 'PATCH')
    expect([patched.status, patched.body]).toEqual([202, {}])
    expect((await change('u', '', { properties: { c: [1] } }, 'PUT')).status).toBe(202)
    const updated = await change('u', 'update_property/', { key: 'd', value: { e: null } })
    expect([updated.status, updated.body]).toEqual([202, {}])
    const removed = await change('u', 'delete_property/', { $unset: 'b' })
    expect([removed.status, removed.body]).toEqual([201, { success: true }])
    const person = await personOf('u')
    expect(person?.properties).toMatchObject({ a: 2, c: [1], d: { e: null } })
    expect(person?.properties).not.toHaveProperty('b')
    const noted = await activity(person?.id ?? '')
    expect(noted.map((one) => one['activity'])).toEqual([
      'updated',
      'updated',
      'updated',
      'updated',
    ])
    expect(noted[0]).toMatchObject({
      scope: 'Person',
      item_id: person?.id,
      user: { email: expect.any(String) },
      detail: {
        name: 'u@x.example',
        changes: [{ type: 'Person', action: 'deleted', field: 'b', before: 1, after: null }],
      },
    })
    expect(await eventsBy()).toEqual([[own('u'), person?.id, 5]])
  })

  test('may be called like what every object has', async () => {
    await capture(world, seen('u'))
    for (const key of ['hasOwnProperty', 'constructor', '__proto__', 'toString']) {
      expect([key, (await change('u', 'update_property/', { key, value: 1 })).status]).toEqual([
        key,
        202,
      ])
      const removed = await change('u', 'delete_property/', { $unset: key })
      expect([key, removed.status]).toEqual([key, 201])
    }
  })

  test.each([
    ['', 'PATCH', {}, 'properties', 'required'],
    ['', 'PATCH', { properties: [] }, 'properties', 'invalid_input'],
    ['update_property/', 'POST', { value: 1 }, 'key', 'required'],
    ['update_property/', 'POST', { key: '', value: 1 }, 'key', 'blank'],
    ['update_property/', 'POST', { key: 'a' }, 'value', 'required'],
    ['delete_property/', 'POST', {}, '$unset', 'required'],
    ['delete_property/', 'POST', { $unset: 3 }, '$unset', 'invalid_input'],
    ['split/', 'POST', { main_distinct_id: 'nobody' }, 'main_distinct_id', 'invalid_input'],
    ['split/', 'POST', { distinct_ids_to_split: ['a'] }, 'distinct_ids_to_split', 'invalid_input'],
    ['undo_merge/', 'POST', {}, 'merge_id', 'does_not_exist'],
    ['undo_merge/', 'POST', undefined, 'merge_id', 'does_not_exist'],
    ['undo_merge/', 'POST', { merge_id: 'x' }, 'merge_id', 'invalid_input'],
  ] as const)(
    'a fault is refused, and nothing changes: %#',
    async (what, method, body, ...[attr, code]) => {
      await capture(world, seen('u', { a: 1 }))
      const before = await personOf('u')
      const { status, body: told } = await change('u', what, body, method)
      expect([status, told]).toMatchObject([400, { attr, code }])
      expect(await personOf('u')).toEqual(before)
      expect(await activity(before?.id ?? '')).toEqual([])
    },
  )

  test('are at most as many bytes as a person may hold, in one body or several', async () => {
    await capture(world, seen('u', { a: 1 }))
    const half = 'x'.repeat(400_000)
    const whole = await change('u', '', { properties: { a: half, b: half } }, 'PUT')
    expect([whole.status, whole.body['code']]).toEqual([413, 'request_too_large'])
    expect((await change('u', '', { properties: { a: half } }, 'PUT')).status).toBe(202)
    const second = await change('u', '', { properties: { b: half } }, 'PUT')
    expect([second.status, second.body]).toMatchObject([
      400,
      { attr: 'properties', code: 'invalid_input' },
    ])
    expect((await personOf('u'))?.properties).toMatchObject({ a: half })
    expect((await personOf('u'))?.properties).not.toHaveProperty('b')
  })
})

describe('a person of several', () => {
  test('is parted by undoing its merge, with every event', async () => {
    await capture(world, seen('anon', { a: 1 }), seen('user', { b: 1 }))
    const [anon, user] = [await personOf('anon'), await personOf('user')]
    await capture(world, identify('user', 'anon'), seen('anon'))
    const { body: listed } = await manage(world, 'GET', `${PERSONS}${user?.id}/merges/`)
    expect(listed['results']).toEqual([
      {
        id: expect.any(Number),
        person: user?.id,
        merged_person: anon?.id,
        distinct_ids: [own('anon')],
        merged_at: expect.any(String),
      },
    ])
    const [merge] = listed['results'] as { id: number }[]
    const merged = [await personOf('user'), await eventsBy()]
    const path = `${PERSONS}${user?.id}/merges/${merge?.id}/`
    const { body: preview } = await manage(world, 'GET', path)
    expect([await personOf('user'), await eventsBy()]).toEqual(merged)
    const undone = await change('user', 'undo_merge/', { merge_id: merge?.id })
    expect([undone.status, undone.body]).toEqual([
      201,
      { success: true, persons: [user?.id, anon?.id] },
    ])
    expect([await personOf('anon'), await personOf('user')]).toEqual([anon, user])
    const count = (person: Person | undefined) => Object.keys(person?.properties ?? {}).length
    expect(preview).toEqual({
      survivor: {
        person: user?.id,
        distinct_ids: [own('user')],
        distinct_id_count: 1,
        // The event that merged them is the user's.
        event_count: 2,
        property_count: count(user),
        cohort_count: 0,
      },
      restored: {
        person: anon?.id,
        distinct_ids: [own('anon')],
        distinct_id_count: 1,
        event_count: 2,
        property_count: count(anon),
        cohort_count: 0,
      },
      properties_lost: ['a'],
      cohorts_lost_count: 0,
    })
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect(await eventsBy()).toEqual([
      [own('anon'), anon?.id, 2],
      [own('user'), user?.id, 1],
    ])
    expect(await activity(user?.id ?? '')).toMatchObject([
      {
        activity: 'merge_undone',
        detail: {
          changes: [
            { field: 'distinct_ids', before: [own('anon'), own('user')], after: [own('user')] },
          ],
        },
      },
    ])
  })

  test('shows what undoing one merge of several would change, cohorts too', async () => {
    await capture(world, seen('a', { a: 1, plan: 'x' }), seen('b', { b: 1 }), seen('c', { c: 1 }))
    const [a, b] = [await idOf('a'), await idOf('b')]
    const { body: cohort } = await manage(world, 'POST', '/api/projects/1/cohorts/', {
      name: 'of ids',
      is_static: true,
      filters: {},
    })
    const members = `/api/projects/1/cohorts/${String(cohort['id'])}/add_persons_to_static_cohort/`
    await manage(world, 'PATCH', members, { person_ids: [a] })
    await capture(world, identify('b', 'a'))
    const properties = { alias: own('b') }
    await capture(world, { event: '$merge_dangerously', distinct_id: own('c'), properties })
    await capture(world, seen('c', { plan: 'y' }), seen('a'))
    const survivor = await personOf('c')
    const { body: listed } = await manage(world, 'GET', `${PERSONS}${survivor?.id}/merges/`)
    const merges = listed['results'] as { readonly id: number; readonly merged_person: string }[]
    const idOfMerge = (merged: string) => merges.find((one) => one.merged_person === merged)?.id
    const shown = async (merged: string) =>
      (await manage(world, 'GET', `${PERSONS}${survivor?.id}/merges/${idOfMerge(merged)}/`)).body
    expect(await shown(a)).toMatchObject({
      survivor: { distinct_id_count: 2, cohort_count: 0 },
      restored: { person: a, distinct_ids: [own('a')], event_count: 2, cohort_count: 1 },
      // A value set since stays.
      properties_lost: ['a'],
      cohorts_lost_count: 1,
    })
    expect(await shown(b)).toMatchObject({
      survivor: { distinct_ids: [own('c')], event_count: 3 },
      restored: { person: b, distinct_id_count: 2, event_count: 4, cohort_count: 1 },
      cohorts_lost_count: 1,
    })
    expect(await personOf('c')).toEqual(survivor)
    for (const wrong of ['0', 'x', '9007199254740993', '1e3']) {
      const { status } = await manage(world, 'GET', `${PERSONS}${survivor?.id}/merges/${wrong}/`)
      expect([wrong, status]).toEqual([wrong, 404])
    }
  })

  test('is split into those it was', async () => {
    await capture(world, seen('a', { a: 1 }), seen('b', { b: 1 }), seen('c', { c: 1 }))
    const before = [await personOf('a'), await personOf('b'), await personOf('c')]
    await capture(world, identify('b', 'a'), identify('b', 'c'))
    const { status, body } = await change('a', 'split/', {})
    expect([status, body['success']]).toEqual([201, true])
    expect([await personOf('a'), await personOf('b'), await personOf('c')]).toEqual(before)
    // Clients send no body where they have nothing to say.
    const again = await change('a', 'split/')
    expect(again.body['persons']).toEqual([before[0]?.id])
    expect((await activity(before[1]?.id ?? '')).map((one) => one['activity'])).toEqual([
      'split_person',
    ])
  })

  test('leaves the person to the main distinct id when it is split', async () => {
    await capture(world, seen('user', { a: 1 }), identify('user', 'other'))
    const before = await personOf('user')
    const { status } = await change('user', 'split/', { main_distinct_id: own('other') })
    expect(status).toBe(201)
    expect(await personOf('other')).toMatchObject({ id: before?.id, distinct_ids: [own('other')] })
    expect((await personOf('user'))?.properties).toEqual({})
  })
})

describe('a person', () => {
  test('is deleted, its events stay, and it comes back with its next event', async () => {
    await capture(world, seen('u', { a: 1 }))
    const id = await idOf('u')
    const { status, body } = await change('u', '', undefined, 'DELETE')
    expect([status, body]).toEqual([202, {}])
    expect(await personOf('u')).toBeUndefined()
    expect((await manage(world, 'GET', `${PERSONS}${id}/`)).status).toBe(404)
    expect((await manage(world, 'DELETE', `${PERSONS}${id}/`)).status).toBe(404)
    expect(await eventsBy()).toEqual([[own('u'), id, 1]])
    await capture(world, seen('u', { b: 1 }))
    const back = await personOf('u')
    expect([back?.id, back?.properties['a'], back?.properties['b']]).toEqual([id, undefined, 1])
    expect(await activity(id)).toMatchObject([{ activity: 'deleted', detail: { name: own('u') } }])
    const order = `select count(*) count from event_removals where person_ids like '%${id.replaceAll('-', '')}%'`
    expect(world.countEvents(order)).toBe(0)
  })

  test('is deleted with its events where that is asked for', async () => {
    await capture(world, seen('u', { a: 1 }))
    const id = await idOf('u')
    expect((await change('u', '?delete_events=true', undefined, 'DELETE')).status).toBe(202)
    expect(await personOf('u')).toBeUndefined()
    expect(await eventsBy()).toEqual([])
    await capture(world, seen('u', { b: 1 }))
    expect(await eventsBy()).toEqual([[own('u'), id, 1]])
  })

  test('that is deleted with its events is in no answer that is remembered', async () => {
    await capture(world, seen('u', { a: 1 }))
    const asked = {
      query: {
        kind: 'HogQLQuery',
        query: `select count() from events where distinct_id = '${own('u')}'`,
      },
    }
    const count = async (): Promise<unknown> => {
      const { body } = await manage(world, 'POST', '/api/projects/1/query/', asked)
      return body['results']
    }
    expect([await count(), await count()]).toEqual([[[1]], [[1]]])
    expect((await change('u', '?delete_events=true', undefined, 'DELETE')).status).toBe(202)
    expect(await count()).toEqual([[0]])
  })

  test('is deleted with others, by ids and distinct ids', async () => {
    await capture(world, seen('a'), seen('b'), seen('c'))
    const ids = [await idOf('a'), crypto.randomUUID()]
    const distinct_ids = [own('a'), own('b'), 'nobody at all']
    const answer = await manage(world, 'POST', `${PERSONS}bulk_delete/`, { ids, distinct_ids })
    const { status, body } = answer
    expect(body).toEqual({
      persons_found: 2,
      persons_deleted: 2,
      persons_queued_for_deletion: 0,
      events_queued_for_deletion: false,
      recordings_queued_for_deletion: false,
      deletion_errors: [],
    })
    world.needs.persons.refresh()
    expect(status).toBe(202)
    expect([await personOf('a'), await personOf('b')]).toEqual([undefined, undefined])
    expect(await personOf('c')).toBeDefined()
  })

  test.each([
    [{}, 'You need to specify either distinct_ids or ids'],
    [{ ids: [] }, 'You need to specify either distinct_ids or ids'],
    [{ ids: Array.from({ length: 101 }, () => 'x') }, 'You can only pass 100 ids in one call'],
    [
      { distinct_ids: Array.from({ length: 101 }, () => 'x') },
      'You can only pass 100 ids in one call',
    ],
    [{ ids: ['12'] }, 'does not look like a personID'],
  ])('is not deleted by a call that names nobody or too many: %#', async (body, detail) => {
    const answer = await manage(world, 'POST', `${PERSONS}bulk_delete/`, body)
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { detail: expect.stringContaining(detail) },
    ])
  })

  test('stays when only its events are to be deleted, which is refused', async () => {
    await capture(world, seen('kept'))
    const distinct_ids = [own('kept')]
    const bulk = `${PERSONS}bulk_delete/`
    for (const [method, path, body] of [
      ['POST', bulk, { distinct_ids, delete_events: true, keep_person: true }],
      ['POST', `${bulk}?keep_person=true`, { distinct_ids, delete_events: true }],
      ['DELETE', `${PERSONS}${await idOf('kept')}/?keep_person=true`, undefined],
    ] as const) {
      expect(await manage(world, method, path, body)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', attr: 'keep_person' },
      })
    }
    world.needs.persons.refresh()
    expect(await personOf('kept')).toBeDefined()
  })

  test('is told of with the cohorts it is in', async () => {
    await capture(world, seen('in'), seen('out'))
    const { body: cohort } = await manage(world, 'POST', '/api/projects/1/cohorts/', {
      name: 'chosen',
      is_static: true,
      _create_static_person_ids: [own('in')],
    })
    const cohorts = async (id: string) => {
      const { body } = await manage(world, 'GET', `${PERSONS}cohorts/?person_id=${await idOf(id)}`)
      return (body['results'] as { id: number }[]).map((one) => one.id)
    }
    expect(await cohorts('in')).toEqual([Number(cohort['id'])])
    expect(await cohorts('out')).toEqual([])
    for (const [search, status] of [
      ['', 400],
      ['?person_id=12', 400],
      [`?person_id=${crypto.randomUUID()}`, 404],
    ] as const) {
      expect((await manage(world, 'GET', `${PERSONS}cohorts/${search}`)).status).toBe(status)
    }
  })

  test('of another project is nobody', async () => {
    await capture(world, seen('u', { a: 1 }))
    const id = await idOf('u')
    const { body: project } = await manage(world, 'POST', '/api/organizations/@current/projects/', {
      name: 'other',
    })
    const other = `/api/projects/${String(project['id'])}/persons/${id}/`
    for (const [method, path, body] of [
      ['PATCH', other, { properties: { a: 2 } }],
      ['DELETE', other, undefined],
      ['POST', `${other}split/`, {}],
      ['POST', `${other}undo_merge/`, {}],
      ['GET', `${other}merges/`, undefined],
      ['GET', `${other}merges/1/`, undefined],
      ['POST', `${other}update_property/`, { key: 'a', value: 2 }],
    ] as const) {
      expect([path, (await manage(world, method, path, body)).status]).toEqual([path, 404])
    }
    expect((await personOf('u'))?.properties['a']).toBe(1)
  })

  test('cannot be changed while nothing can be written, and is told so', async () => {
    const full = await openWorld({
      identity: {
        changePerson: () => Promise.resolve({ kind: 'unavailable' }),
        deleteGroup: () => Promise.resolve({ kind: 'unavailable' }),
      },
    })
    const company = { $group_type: 'company', $group_key: 'acme' }
    await capture(full, seen('u'), {
      event: '$groupidentify',
      distinct_id: 'u',
      properties: company,
    })
    const { body: found } = await manage(full, 'GET', PERSONS)
    const [person] = found['results'] as Person[]
    const path = `${PERSONS}${person?.id ?? ''}/`
    for (const [method, what] of [
      ['DELETE', ''],
      ['POST', 'split/'],
      ['POST', 'undo_merge/'],
    ] as const) {
      const { status, body } = await manage(full, method, path + what)
      expect([status, body['code']]).toEqual([503, 'storage_unavailable'])
    }
    const group = '/api/environments/1/groups/find/?group_type_index=0&group_key=acme'
    expect((await manage(full, 'DELETE', group)).status).toBe(503)
    expect((await manage(full, 'GET', group)).status).toBe(200)
    await full.close()
  })

  test('is changed with the scope person:write only', async () => {
    await capture(world, seen('u'))
    const { body: key } = await manage(world, 'POST', '/api/personal_api_keys/', {
      label: 'reads',
      scopes: ['person:read'],
    })
    const send = async (method: string, path: string, body?: object) => {
      const headers = { Authorization: `Bearer ${String(key['value'])}` }
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      return (await world.send(path, { method, headers, ...init })).status
    }
    const path = `${PERSONS}${await idOf('u')}/`
    expect(await send('GET', `${path}merges/`)).toBe(200)
    expect(await send('PATCH', path, { properties: {} })).toBe(403)
    expect(await send('DELETE', path)).toBe(403)
    expect(await send('POST', `${path}split/`, {})).toBe(403)
    expect(await send('POST', `${PERSONS}bulk_delete/`, { ids: [] })).toBe(403)
  })
})
