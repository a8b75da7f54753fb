/** Demo data: the story is the same for the same seed, and a project gets it through the real ingestion. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { DemoRuns } from '../../src/demo/demo-runs.ts'
import { seededRandom } from '../../src/demo/random.ts'
import { type DemoEvent, generatePerson } from '../../src/demo/timeline.ts'
import { requestDemoData } from '../../src/projects/demo-runs.ts'
import { resetToken } from '../../src/projects/settings/project-changes.ts'
import { openWorld, type World } from '../http/world.ts'

const END_MS = Date.parse('2026-03-01T12:00:00Z')
const PLOT = { seed: 'one', persons: 60, days: 30, end_ms: END_MS }

const tell = (plot = PLOT): readonly DemoEvent[] =>
  Array.from({ length: plot.persons }, (_, number) => [...generatePerson(plot, number)]).flat()

describe('chance', () => {
  test('is the same for the same seed and name, and even', () => {
    const numbers = (seed: string, name = 'a') => {
      const chance = seededRandom(seed, name)
      return Array.from({ length: 10_000 }, () => chance.next())
    }
    expect(numbers('x')).toEqual(numbers('x'))
    expect(numbers('x').slice(0, 3)).not.toEqual(numbers('y').slice(0, 3))
    expect(numbers('x').slice(0, 3)).not.toEqual(numbers('x', 'b').slice(0, 3))
    const all = numbers('even')
    expect(all.every((number) => number >= 0 && number < 1)).toBe(true)
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const share = all.filter((number) => Math.floor(number * 10) === tenth).length
      expect(share).toBeGreaterThan(850)
      expect(share).toBeLessThan(1150)
    }
  })
})

describe('the story', () => {
  test('is told alike by the same seed, to the last byte', () => {
    expect(tell()).toEqual(tell())
    expect(tell({ ...PLOT, seed: 'two' }).map(({ uuid }) => uuid)).not.toContain(
      tell()[0]?.uuid ?? '',
    )
  })

  test('stays within its time, in order for each person, with uuids of their own', () => {
    const events = tell()
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(events.length)
    for (const { uuid, timestamp } of events) {
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      const at = Date.parse(timestamp)
      expect(at).toBeLessThan(END_MS)
      expect(at).toBeGreaterThanOrEqual(END_MS - 30 * 86_400_000)
    }
    for (let number = 0; number < PLOT.persons; number += 1) {
      const times = [...generatePerson(PLOT, number)].map(({ timestamp }) => timestamp)
      expect(times).toEqual(times.toSorted((one, other) => one.localeCompare(other)))
    }
  })

  test('loses people from step to step, and keeps more of those with the new editor', () => {
    const events = tell({ ...PLOT, persons: 1500, days: 90 })
    const people = (event: string) =>
      new Set(events.filter((one) => one.event === event).map(({ distinct_id }) => distinct_id))
        .size
    const steps = ['$pageview', 'signed_up', 'onboarding_completed', 'upgraded_plan'].map(people)
    for (const [step, count] of steps.entries()) {
      expect(count).toBeGreaterThan(0)
      if (step > 0) expect(count).toBeLessThan((steps[step - 1] ?? 0) * 0.9)
    }
    const perPerson = (variant: string) => {
      const its = events.filter(({ properties }) => properties['$feature/new-editor'] === variant)
      const made = its.filter(({ event }) => event === 'document_created').length
      return made / new Set(its.map(({ distinct_id }) => distinct_id)).size
    }
    expect(perPerson('test')).toBeGreaterThan(perPerson('control') * 1.2)
  })
})

describe('a project', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
  })
  afterAll(() => world.close())

  type Json = Readonly<Record<string, unknown>>
  async function ask(
    method: string,
    path: string,
    body?: Json,
  ): Promise<Json & { status: number }> {
    const answer = await world.send(path, {
      method,
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { ...JSON.parse(await answer.text()), status: answer.status }
  }

  async function hogql(query: string): Promise<unknown> {
    const body = { query: { kind: 'HogQLQuery', query }, refresh: 'force_blocking' }
    return (await ask('POST', '/api/projects/1/query/', body))['results']
  }

  async function generate(body: Json): Promise<Json> {
    const ordered = await ask('POST', '/api/projects/1/generate_demo_data/', body)
    expect(ordered).toMatchObject({ status: 202, is_generating_demo_data: true, is_demo: true })
    return generated()
  }

  /** What is said of the run when it is over. */
  async function generated(): Promise<Json> {
    for (;;) {
      const seen = await ask('GET', '/api/projects/1/is_generating_demo_data/')
      if (seen['is_generating_demo_data'] === false) return seen['demo_data'] as Json
      await Bun.sleep(20)
    }
  }

  test('gets all of it, with persons, companies, flags and cohorts, and once only', async () => {
    const end_at = new Date(END_MS).toISOString()
    const order = { seed: 'one', persons: 60, days: 30, end_at }
    const events = tell()
    const done = await generate(order)
    expect(done).toMatchObject({
      state: 'done',
      progress: 1,
      done_events: events.length,
      total_events: events.length,
      error: null,
      finished_at: expect.any(String),
    })
    const kept = 'select count(), count(distinct uuid), min(timestamp), max(timestamp) from events'
    const [row] = (await hogql(kept)) as unknown[][]
    expect(row?.slice(0, 2)).toEqual([events.length, events.length])
    const signed_up = new Set(
      events.filter(({ event }) => event === 'signed_up').map(({ distinct_id }) => distinct_id),
    ).size
    expect(
      await hogql(
        "select count(distinct person_id), countIf(person.properties.email is null) from events where event = 'signed_up'",
      ),
    ).toEqual([[signed_up, 0]])
    // Who came without a name and signed up is one person.
    expect(await hogql('select count() from persons')).toEqual([[60]])
    const companies = events.filter(({ event }) => event === '$groupidentify')
    const names = new Set(companies.map(({ properties }) => properties['$group_key']))
    expect(await hogql('select count() from groups')).toEqual([[names.size]])
    const flags = await ask('GET', '/api/projects/1/feature_flags/')
    expect(
      (flags['results'] as Json[])
        .map(({ key }) => String(key))
        .toSorted((one, other) => one.localeCompare(other)),
    ).toEqual(['dark-mode', 'export-to-pdf', 'new-editor'])
    expect(await ask('GET', '/api/projects/1/cohorts/')).toMatchObject({ count: 2 })

    // The flag answers what the events say that it answered.
    const someone = events.find(({ event }) => event === '$feature_flag_called')
    const decide = await world.send('/decide/?v=3', {
      method: 'POST',
      body: JSON.stringify({
        api_key: world.first.api_token,
        distinct_id: someone?.distinct_id,
      }),
    })
    const decided: { featureFlags: Json } = JSON.parse(await decide.text())
    expect(decided.featureFlags['new-editor']).toBe(someone?.properties['$feature_flag_response'])

    await generate(order)
    expect(await hogql(kept)).toEqual([row])
    expect(await ask('GET', '/api/projects/1/cohorts/')).toMatchObject({ count: 2 })
  }, 60_000)

  test('gets it though nobody could write down how it ended, as soon as that can be', async () => {
    const { control } = world.needs
    const tries = () =>
      world.log_lines.filter((line) => line.includes('could not be recorded')).length
    control.run(sql`create trigger full before update of state on demo_runs
      begin select raise(abort, 'database or disk is full'); end`)
    const ordered = await ask('POST', '/api/projects/1/generate_demo_data/', {
      persons: 1,
      days: 1,
    })
    expect(ordered.status).toBe(202)
    while (tries() === 0) await Bun.sleep(20)
    const seen = await ask('GET', '/api/projects/1/is_generating_demo_data/')
    expect(seen).toMatchObject({ is_generating_demo_data: true })
    control.run(sql`drop trigger full`)
    expect(await generated()).toMatchObject({ state: 'done' })
  })

  test('gets it though its token is changed while events are on their way', async () => {
    const { control, capture, flags } = world.needs
    const faults: unknown[] = []
    let requests = 0
    const runs = new DemoRuns({
      control,
      flags,
      log: { error: (fault) => void faults.push(fault) },
      now: () => new Date(),
      capture: {
        send(request) {
          requests += 1
          if (requests === 1) resetToken(control, 1, 1, new Date())
          return capture.send(request)
        },
      },
    })
    requestDemoData(control, { project_id: 1, persons: 1, days: 1 }, new Date())
    runs.look()
    await runs.close()
    expect(faults).toEqual([])
    expect(await generated()).toMatchObject({ state: 'done' })
  })

  test.each([
    [{ persons: 0 }, 'persons'],
    [{ persons: 100_001 }, 'persons'],
    [{ days: 731 }, 'days'],
    [{ days: 1.5 }, 'days'],
    [{ end_at: '2999-01-01T00:00:00Z' }, 'end_at'],
    [{ seed: '' }, 'seed'],
  ])('is refused the order %j', async (body, attr) => {
    const answer = await ask('POST', '/api/projects/1/generate_demo_data/', body)
    expect([answer.status, answer['attr']]).toEqual([400, attr])
  })
})
