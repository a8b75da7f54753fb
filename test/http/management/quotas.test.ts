/** How many things of one kind a project may keep: one more is refused and leaves nothing behind. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const SAVED_MAX = 2

let world: World
beforeAll(async () => {
  world = await openWorld({ saved_max: SAVED_MAX })
})
afterAll(() => world.close())

/** One thing of each family; `erased` ones are gone when they are deleted, and some leave a flag, which is one too. */
const FAMILIES: Readonly<
  Record<
    string,
    {
      readonly make: (number: number) => object
      readonly erased?: true
      readonly leaves_flag?: true
    }
  >
> = {
  actions: { make: (number) => ({ name: `a${number}` }) },
  annotations: { make: (number) => ({ content: `a${number}` }) },
  cohorts: { make: (number) => ({ name: `c${number}`, is_static: true }) },
  dashboards: { make: (number) => ({ name: `d${number}` }) },
  early_access_feature: {
    make: (number) => ({ name: `e${number}`, stage: 'draft' }),
    erased: true,
    leaves_flag: true,
  },
  experiment_holdouts: {
    make: (number) => ({
      name: `h${number}`,
      filters: [{ properties: [], rollout_percentage: 5 }],
    }),
    erased: true,
  },
  experiment_saved_metrics: {
    make: (number) => ({
      name: `m${number}`,
      query: {
        kind: 'ExperimentMetric',
        metric_type: 'mean',
        source: { kind: 'EventsNode', event: 'paid' },
      },
    }),
    erased: true,
  },
  experiments: {
    make: (number) => ({ name: `e${number}`, feature_flag_key: `e${number}` }),
    leaves_flag: true,
  },
  feature_flags: { make: (number) => ({ key: `f${number}` }) },
  insight_variables: {
    make: (number) => ({ name: `v${number}`, type: 'String' }),
    erased: true,
  },
  insights: { make: (number) => ({ name: `i${number}` }) },
  surveys: {
    make: (number) => ({
      name: `s${number}`,
      type: 'api',
      questions: [{ type: 'open', question: 'How?' }],
    }),
    erased: true,
  },
}

describe('a project', () => {
  test.each(Object.entries(FAMILIES))(
    'keeps so many %s and no more',
    async (family, { make, erased, leaves_flag }) => {
      const { body: project } = await manage(world, 'POST', '/api/projects/', { name: family })
      const root = `/api/projects/${String(project['id'])}/${family}/`
      const listed = async () => {
        const { body } = await manage(world, 'GET', root)
        const { results, count } = body
        return Number(count ?? (results as unknown[]).length)
      }
      const ids: unknown[] = []
      // A project begins with a dashboard.
      for (let number = await listed(); number < SAVED_MAX; number += 1) {
        const made = await manage(world, 'POST', root, make(number))
        expect([made.status, made.body['detail']]).toEqual([201, undefined])
        ids.push(made.body['id'])
      }
      const refused = {
        status: 400,
        body: { code: 'invalid_input', detail: expect.stringContaining('may keep 2'), attr: null },
      }
      expect(await manage(world, 'POST', root, make(SAVED_MAX))).toMatchObject(refused)
      expect(await listed()).toBe(SAVED_MAX)
      const own = `${root}${String(ids[0])}/`
      const gone =
        erased === true
          ? await manage(world, 'DELETE', own)
          : await manage(world, 'PATCH', own, { deleted: true })
      expect([200, 204]).toContain(gone.status)
      if (leaves_flag === true) return
      expect((await manage(world, 'POST', root, make(SAVED_MAX + 1))).status).toBe(201)
      if (erased !== true) {
        expect(await manage(world, 'PATCH', own, { deleted: false })).toMatchObject(refused)
      }
      expect(await listed()).toBe(SAVED_MAX)
    },
  )
})

test('a project has fewer flags than other things, since all are evaluated for each request', async () => {
  await using few = await openWorld({ flags_max: 1 })
  const root = '/api/projects/1/feature_flags/'
  const first = await manage(few, 'POST', root, { key: 'one' })
  expect(first.status).toBe(201)
  const refused = {
    status: 400,
    body: { detail: 'A project may keep 1 of these: delete some that are not needed.' },
  }
  expect(await manage(few, 'POST', root, { key: 'two' })).toMatchObject(refused)
  const own = `${root}${String(first.body['id'])}/`
  expect((await manage(few, 'PATCH', own, { active: false })).status).toBe(200)
  const cohorts = '/api/projects/1/cohorts/'
  for (const name of ['a', 'b'])
    expect((await manage(few, 'POST', cohorts, { name, is_static: true })).status).toBe(201)
})
