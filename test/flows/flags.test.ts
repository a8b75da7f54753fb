/** Flags made through the API, read by posthog-node remotely and locally, and by posthog-js on pages. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { EVERY_CASE, limitTests } from '../long-tests.ts'
import {
  HAS_BROWSER,
  openBrowser,
  openSite,
  openVisitor,
  type Site,
  startOf,
  TESTED_VERSIONS,
  type Visitor,
} from './clients/browser.ts'
import { MAJORS, open4, open5 } from './clients/node-clients.ts'
import { askUntil } from './clients/patience.ts'
import {
  API_TOKEN,
  askHogQL,
  PERSONAL_API_KEY,
  type Server,
  startServer,
} from './processes/server.ts'

const TIMEOUT_MS = 180_000
limitTests(TIMEOUT_MS)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-flags-'))
let server: Server

/** Everybody in one of two variants, each with a payload. */
const HALVES = {
  groups: [{ properties: [], rollout_percentage: 100 }],
  multivariate: {
    variants: [
      { key: 'left', rollout_percentage: 50 },
      { key: 'right', rollout_percentage: 50 },
    ],
  },
  payloads: { left: '{"side":1}', right: '{"side":2}' },
}

const on = (property: object) => ({
  groups: [{ properties: [{ operator: 'exact', ...property }], rollout_percentage: 100 }],
})

const FLAGS: Readonly<Record<string, object>> = {
  everyone: { groups: [{ properties: [], rollout_percentage: 100 }] },
  nobody: { groups: [{ properties: [], rollout_percentage: 0 }] },
  third: { groups: [{ properties: [], rollout_percentage: 33 }] },
  halves: HALVES,
  professionals: on({ type: 'person', key: 'plan', value: ['pro'] }),
  acme: {
    aggregation_group_type_index: 0,
    ...on({ type: 'group', key: 'name', value: ['Acme'], group_type_index: 0 }),
  },
}

async function manage(method: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${server.url}/api/projects/1/${path}`, {
    method,
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${PERSONAL_API_KEY}`,
    },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`)
}

/** What the server itself decides. */
async function decide(distinct_id: string): Promise<Readonly<Record<string, boolean | string>>> {
  const answer = await fetch(`${server.url}/decide/?v=3`, {
    method: 'POST',
    body: JSON.stringify({ api_key: API_TOKEN, distinct_id }),
  })
  const body: { featureFlags: Record<string, boolean | string> } = JSON.parse(await answer.text())
  return body.featureFlags
}

const ask = async (query: string) => (await askHogQL(server.url, query)).results

beforeAll(async () => {
  server = await startServer({ data_dir: join(folder, 'data') })
  const client = open5(server.url)
  client.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { name: 'Acme' } })
  client.identify({ distinctId: 'ada', properties: { plan: 'pro' } })
  await client.shutdown()
  for (const [key, filters] of Object.entries(FLAGS)) {
    await manage('POST', 'feature_flags/', { key, name: key, filters, active: true })
  }
  await manage('POST', 'feature_flags/', {
    key: 'settings',
    is_remote_configuration: true,
    filters: { ...FLAGS['everyone'], payloads: { true: '{"colour":"blue"}' } },
  })
}, TIMEOUT_MS)

afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}, TIMEOUT_MS)

describe.each(MAJORS)('posthog-node $version', ({ version, open }) => {
  test(
    'is told every flag, for the stored person and group',
    async () => {
      const client = open(server.url)
      const half = (await decide('ada'))['halves']
      const { settings: _, ...flags } = await client.getAllFlags('ada', {
        groups: { company: 'acme' },
      })
      expect(flags).toEqual({
        everyone: true,
        nobody: false,
        third: (await decide('ada'))['third'] ?? '',
        halves: half ?? '',
        professionals: true,
        acme: true,
      })
      expect(await client.getFeatureFlag('professionals', 'bob')).toBe(false)
      expect(await client.getFeatureFlagPayload('halves', 'ada')).toEqual({
        side: half === 'left' ? 1 : 2,
      })
      await client.shutdown()
    },
    TIMEOUT_MS,
  )

  test(
    'reports the flags it was asked for, by flag and answer',
    async () => {
      const client = open(server.url)
      const person = `asker-${version}`
      for (const key of ['everyone', 'nobody', 'halves']) await client.getFeatureFlag(key, person)
      await client.shutdown()
      const called = await askUntil(
        () =>
          ask(`select properties.$feature_flag, toString(properties.$feature_flag_response), count()
               from events where event = '$feature_flag_called' and distinct_id = '${person}'
               group by 1, 2 order by 1`),
        (rows) => rows.length === 3,
      )
      expect(called).toEqual([
        ['everyone', 'true', 1],
        ['halves', (await decide(person))['halves'], 1],
        ['nobody', 'false', 1],
      ])
    },
    TIMEOUT_MS,
  )

  test(
    'decides by itself as the server does',
    async () => {
      const client = open(server.url, { personalApiKey: PERSONAL_API_KEY })
      const locally = { onlyEvaluateLocally: true, sendFeatureFlagEvents: false }
      for (let number = 0; number < 60; number++) {
        const person = `somebody-${number}`
        const decided = await decide(person)
        for (const key of ['everyone', 'nobody', 'third', 'halves']) {
          expect(await client.getFeatureFlag(key, person, locally)).toBe(decided[key])
        }
      }
      const professional = { ...locally, personProperties: { plan: 'pro' } }
      expect(await client.getFeatureFlag('professionals', 'eve', professional)).toBe(true)
      await client.shutdown()
    },
    TIMEOUT_MS,
  )
})

test.each([
  ['5', open5],
  ['4', open4],
] as const)(
  'posthog-node %s reads a payload that is settings',
  async (_major, open) => {
    const client = open(server.url, { personalApiKey: PERSONAL_API_KEY })
    const payload = await client.getRemoteConfigPayload('settings')
    // Major 4 hands the text on as it came.
    const settings = typeof payload === 'string' ? JSON.parse(payload) : payload
    expect(settings).toEqual({ colour: 'blue' })
    await client.shutdown()
  },
  TIMEOUT_MS,
)

describe.skipIf(!HAS_BROWSER)('posthog-js in Chromium', () => {
  let browser: Browser
  let site: Site

  beforeAll(async () => {
    browser = await openBrowser()
    site = openSite()
  }, TIMEOUT_MS)

  afterAll(async () => {
    await browser.close()
    await site.close()
  }, TIMEOUT_MS)

  // The oldest version, too, where `EVERY_CASE=1`; the tests of events run it always.
  describe.each(EVERY_CASE ? TESTED_VERSIONS : TESTED_VERSIONS.slice(0, 1))('%s', (version) => {
    let visitor: Visitor
    let page: Page
    const run = (code: string) => page.evaluate(code)
    const flag = (key: string) => run(`posthog.getFeatureFlag('${key}')`)
    const untilFlag = (key: string) =>
      askUntil(
        () => flag(key),
        (value) => value === true,
      )

    beforeAll(async () => {
      visitor = await openVisitor(browser)
      page = await visitor.context.newPage()
    }, TIMEOUT_MS)

    afterAll(() => visitor.context.close(), TIMEOUT_MS)

    test(
      'flags and payloads are there, and change with the person and the group',
      async () => {
        await page.goto(site.address(version, { api_host: server.url }))
        await run('new Promise((resolve) => posthog.onFeatureFlags(() => resolve(1)))')
        const visitor_id = String(await run('posthog.get_distinct_id()'))
        const half = (await decide(visitor_id))['halves']
        expect([await flag('everyone'), await flag('halves')]).toEqual([true, half])
        expect(await run(`posthog.isFeatureEnabled('nobody')`)).toBe(false)
        expect(await run(`posthog.isFeatureEnabled('professionals')`)).toBe(false)
        expect(await run(`posthog.getFeatureFlagPayload('halves')`)).toEqual({
          side: half === 'left' ? 1 : 2,
        })
        await run(`posthog.identify('pro-${version}', { plan: 'pro' })`)
        // The oldest version asks for flags while the identification may still be on its way.
        await askUntil(
          () => ask(`select 1 from events where distinct_id = 'pro-${version}'`),
          (rows) => rows.length > 0,
        )
        if (version === '1.57.2') await run('posthog.reloadFeatureFlags()')
        expect(await untilFlag('professionals')).toBe(true)
        await run(`posthog.group('company', 'acme')`)
        expect(await untilFlag('acme')).toBe(true)
      },
      TIMEOUT_MS,
    )

    test(
      'events carry the flags, and each value asked for is reported',
      async () => {
        await run(`posthog.capture('flagged')`)
        await page.goto(site.elsewhere)
        const rows = await askUntil(
          () =>
            ask(`select toString(properties."$feature/everyone"), properties."$feature/halves",
                   JSONHas(properties, '$active_feature_flags')
                 from events where event = 'flagged' and distinct_id = 'pro-${version}'`),
          (found) => found.length === 1,
        )
        expect(rows).toEqual([['true', (await decide(`pro-${version}`))['halves'], 1]])
        const called = await ask(
          `select distinct properties.$feature_flag from events
           where event = '$feature_flag_called' and properties.$lib_version = '${version}' order by 1`,
        )
        expect(called).toEqual([['acme'], ['everyone'], ['halves'], ['nobody'], ['professionals']])
      },
      TIMEOUT_MS,
    )

    test(
      'flags that a page brings along are there at once, and the server has the last word',
      async () => {
        await page.goto(site.unstarted(version))
        const bootstrap = { featureFlags: { brought: 'along', nobody: true } }
        const start = startOf({ api_host: server.url, bootstrap, persistence: 'memory' })
        expect(
          await run(
            `${start}; [posthog.getFeatureFlag('brought'), posthog.getFeatureFlag('nobody')]`,
          ),
        ).toEqual(['along', true])
        // The newest version asks the server only when told to.
        await run('posthog.reloadFeatureFlags()')
        expect(await untilFlag('everyone')).toBe(true)
        expect(await flag('nobody')).toBe(false)
        expect(visitor.complaints).toEqual([])
      },
      TIMEOUT_MS,
    )

    test(
      'early access is listed, and whoever joins has the feature',
      async () => {
        const name = `Early ${version}`
        await manage('POST', 'early_access_feature/', { name, stage: 'beta' })
        const key = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
        await page.goto(site.address(version, { api_host: server.url }))
        await run('new Promise((resolve) => posthog.onFeatureFlags(() => resolve(1)))')
        const listed = await run(
          'new Promise((resolve) => posthog.getEarlyAccessFeatures(resolve, true))',
        )
        expect(listed).toContainEqual(expect.objectContaining({ name, flagKey: key }))
        const visitor_id = String(await run('posthog.get_distinct_id()'))
        expect((await decide(visitor_id))[key]).toBe(false)
        await run(`posthog.updateEarlyAccessFeatureEnrollment('${key}', true)`)
        expect(await flag(key)).toBe(true)
        const joined = await askUntil(
          async () => (await decide(visitor_id))[key],
          (value) => value === true,
        )
        expect(joined).toBe(true)
      },
      TIMEOUT_MS,
    )

    test.skipIf(version === '1.57.2')(
      'surveys are told with their questions and the flag that chooses whom',
      async () => {
        const name = `How was ${version}?`
        const questions = [{ type: 'open', question: 'And now?' }]
        const start_date = '2026-01-01T00:00:00Z'
        await manage('POST', 'surveys/', { name, type: 'api', questions, start_date })
        await page.goto(site.address(version, { api_host: server.url }))
        const told = await run('new Promise((resolve) => posthog.getSurveys(resolve, true))')
        expect(told).toContainEqual(
          expect.objectContaining({
            name,
            questions: [expect.objectContaining({ question: 'And now?' })],
            internal_targeting_flag_key: expect.stringContaining('survey-targeting-how-was'),
          }),
        )
      },
      TIMEOUT_MS,
    )
  })
})
