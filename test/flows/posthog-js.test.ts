/** posthog-js of several versions, unmodified, in Chromium on pages of another origin, read back through HogQL. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import {
  HAS_BROWSER,
  openBrowser,
  openSite,
  openVisitor,
  type Site,
  TESTED_VERSIONS,
  type Visitor,
} from './clients/browser.ts'
import { askUntil } from './clients/patience.ts'
import { layWire, textIn, uuidsSent, type Wire } from './clients/wire.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

const TIMEOUT_MS = 180_000
setDefaultTimeout(TIMEOUT_MS)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-js-'))
let server: Server
let browser: Browser
let site: Site

const ask = async (query: string) => (await askHogQL(server.url, query)).results

/** Asks until a number of rows is there. */
const askForRows = (query: string, count: number) =>
  askUntil(
    () => ask(query),
    (rows) => rows.length >= count,
  )

/** The library batches for three seconds; leaving the page makes it send what it has as a beacon. */
const leave = (page: Page) => page.goto(site.elsewhere)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!HAS_BROWSER)('posthog-js in Chromium', () => {
  beforeAll(async () => {
    server = await startServer({ data_dir: join(folder, 'data') })
    browser = await openBrowser()
    site = openSite()
  }, TIMEOUT_MS)

  afterAll(async () => {
    await browser.close()
    await site.close()
    await server.stop()
  }, TIMEOUT_MS)

  describe.each(TESTED_VERSIONS)('%s', (version) => {
    const user = `user-${version}`
    /** Since then the library makes persons for identified visitors only. */
    const is_sparing = version === '1.449.2' || version === '1.261.8'
    /** Before then events had no uuid. */
    const has_uuids = version !== '1.57.2'
    let wire: Wire
    let visitor: Visitor
    let page: Page
    let anonymous_id: string

    const run = (code: string) => page.evaluate(code)
    const open = () => page.goto(site.address(version, { api_host: wire.url }))
    const eventsOf = (distinct_id: string, columns: string) =>
      `select ${columns} from events where distinct_id = '${distinct_id}'`

    beforeAll(async () => {
      wire = await layWire(server.url)
      visitor = await openVisitor(browser)
      page = await visitor.context.newPage()
    }, TIMEOUT_MS)

    afterAll(async () => {
      await visitor.context.close()
      wire.close()
    }, TIMEOUT_MS)

    test(
      'a visit is a page view, a click with its elements, and what the page captures',
      async () => {
        await open()
        // Clicks are captured from when the library knows that the project wants them.
        await page.waitForLoadState('networkidle')
        anonymous_id = String(await run('posthog.get_distinct_id()'))
        await page.click('#buy')
        await run(`posthog.capture('looked', { seats: 3, tags: ['a'], label: 'Ωmega "q" 😀' })`)
        const events = await askForRows(
          `select event, properties.utm_source, person_mode, toString(properties.seats), properties.label,
             properties.$current_url like '%/shop%', properties.$lib_version
           from events where distinct_id = '${anonymous_id}' order by event`,
          3,
        )
        const mode = is_sparing ? 'propertyless' : 'full'
        expect(events).toEqual([
          ['$autocapture', 'news', mode, null, null, 1, version],
          ['$pageview', 'news', mode, null, null, 1, version],
          ['looked', 'news', mode, '3', 'Ωmega "q" 😀', 1, version],
        ])
        const repeated = [...uuidsSent(wire.passed).values()].filter((count) => count > 1)
        expect(repeated).toEqual([])
        const [click] = await ask(
          `select properties.$event_type, elements_chain, elements_chain_texts, elements_chain_ids
           from events where event = '$autocapture' and distinct_id = '${anonymous_id}'`,
        )
        expect(click).toEqual([
          'click',
          expect.stringMatching(/^button\.large\.primary:.*;main:.*;body:[^;]*$/),
          ['Buy now'],
          ['buy'],
        ])
        expect(
          await ask(`select count() from persons where pdi.distinct_id = '${anonymous_id}'`),
        ).toEqual([[is_sparing ? 0 : 1]])
      },
      TIMEOUT_MS,
    )

    test(
      'identify gives the visitor a person with the past, also what arrives after it',
      async () => {
        // In one go: what waits in the client's queue is sent three seconds later.
        const set = `{ email: '${user}@example.com' }, { first: 'a' }`
        await run(`posthog.capture('hurried'); posthog.identify('${user}', ${set})`)
        const bodies = () => wire.passed.map(({ body }) => textIn(body))
        const sentAt = (event: string) => bodies().findIndex((body) => body.includes(`"${event}"`))
        // Who leaves while a request is on its way may take it along.
        await askUntil(
          () => sentAt('$identify'),
          (at) => at >= 0,
        )
        await run(`posthog.capture('bought', { price: 9.75 })`)
        await leave(page)
        const events = await askForRows(
          `select event, distinct_id, properties.price from events
           where person.properties.email = '${user}@example.com'
             and event in ('$autocapture', '$identify', '$pageview', 'bought', 'hurried', 'looked')
           order by event`,
          6,
        )
        expect(events).toEqual([
          ['$autocapture', anonymous_id, null],
          ['$identify', user, null],
          ['$pageview', anonymous_id, null],
          ['bought', user, 9.75],
          ['hurried', anonymous_id, null],
          ['looked', anonymous_id, null],
        ])
        expect(sentAt('$identify')).toBeLessThan(sentAt('hurried'))
        expect(
          await ask(
            `select properties.first, properties.$initial_utm_source, properties.$browser, is_identified
             from persons where properties.email = '${user}@example.com'`,
          ),
        ).toEqual([['a', 'news', 'Chrome', true]])
      },
      TIMEOUT_MS,
    )

    test(
      'person properties, groups and aliases act, also from a beacon',
      async () => {
        await open()
        await run(
          version === '1.57.2'
            ? `posthog.people.set({ plan: 'pro' }); posthog.people.set_once({ first: 'b' })`
            : `posthog.setPersonProperties({ plan: 'pro' }, { first: 'b' })`,
        )
        await run(`posthog.group('company', 'acme-${version}', { name: 'Acme', seats: 5 })`)
        await run(`posthog.capture('grouped')`)
        await run(`posthog.alias('nick-${version}')`)
        await run(`posthog.capture('leaving')`)
        await leave(page)
        const leaving = await askForRows(
          `select person.properties.plan, person.properties.first, $group_0, group_0.properties.name,
             toString(group_0.properties.seats)
           from events where event = 'leaving' and distinct_id = '${user}'`,
          1,
        )
        expect(leaving).toEqual([['pro', 'a', `acme-${version}`, 'Acme', '5']])
        expect(await askForRows(eventsOf(user, `$group_0`) + ` and event = 'grouped'`, 1)).toEqual([
          [`acme-${version}`],
        ])
        expect(
          await ask(
            `select distinct_id from person_distinct_ids
             where person.properties.email = '${user}@example.com' order by 1`,
          ),
        ).toEqual([anonymous_id, `nick-${version}`, user].toSorted().map((id) => [id]))
        expect(wire.passed.at(-1)?.method).toBe('POST')
      },
      TIMEOUT_MS,
    )

    test(
      'reset begins another visitor',
      async () => {
        await open()
        await run('posthog.reset()')
        const next_id = String(await run('posthog.get_distinct_id()'))
        await run(`posthog.capture('began anew')`)
        await leave(page)
        expect(next_id).not.toBe(anonymous_id)
        expect(
          await askForRows(
            eventsOf(next_id, 'person.properties.email') + ` and event = 'began anew'`,
            1,
          ),
        ).toEqual([[null]])
      },
      TIMEOUT_MS,
    )

    test(
      'who opts out sends nothing until opting in again',
      async () => {
        await open()
        await run('posthog.opt_out_capturing()')
        await run(`posthog.capture('hidden')`)
        await run('posthog.opt_in_capturing()')
        await run(`posthog.capture('shown')`)
        const id = String(await run('posthog.get_distinct_id()'))
        await leave(page)
        const events = await askForRows(
          eventsOf(id, 'event') + ` and event in ('hidden', 'shown', '$opt_in') order by event`,
          2,
        )
        expect(events).toEqual([['$opt_in'], ['shown']])
      },
      TIMEOUT_MS,
    )

    test(
      'what is not compressed, with a header of its own, comes after a preflight',
      async () => {
        const header = { 'X-Shop': 'corner' }
        const settings = { disable_compression: true, request_headers: header, xhr_headers: header }
        const before = wire.passed.length
        await page.goto(site.address(version, { api_host: wire.url, ...settings }))
        const sent = await askUntil(
          () => wire.passed.slice(before),
          (passed) => passed.some(({ body }) => textIn(body).includes('"$pageview"')),
        )
        const preflight = sent.find(({ method }) => method === 'OPTIONS')
        expect(preflight?.headers['access-control-request-headers']).toContain('x-shop')
        const events = sent.find(({ body }) => textIn(body).includes('"$pageview"'))
        expect([events?.method, events?.headers['x-shop']]).toEqual(['POST', 'corner'])
      },
      TIMEOUT_MS,
    )

    test(
      'every event is stored once, and no page complained, of CORS or else',
      async () => {
        // Leaving a page, the newest version sends again what was just on its way.
        await leave(page)
        const stored = await askUntil(
          () =>
            ask(`select toString(uuid), count() from events
                 where properties.$lib_version = '${version}' group by 1 order by 1`),
          (rows) => rows.length >= uuidsSent(wire.passed).size,
        )
        const sent = uuidsSent(wire.passed)
        expect(stored.filter(([, count]) => count !== 1)).toEqual([])
        if (has_uuids) expect(stored.map(([uuid]) => uuid)).toEqual([...sent.keys()].toSorted())
        expect(stored.length).toBeGreaterThan(15)
        expect(visitor.complaints).toEqual([])
      },
      TIMEOUT_MS,
    )

    test(
      'what is sent again after a lost reply is stored once, if it has a uuid',
      async () => {
        const lost = `lost ${version}`
        const unlucky = await openVisitor(browser)
        page = await unlucky.context.newPage()
        await open()
        const sendings = () => wire.passed.filter(({ body }) => textIn(body).includes(lost)).length
        wire.loseReplies(1, lost)
        await run(`posthog.capture('${lost}', {}, { send_instantly: true })`)
        expect(await askUntil(sendings, (count) => count > 1)).toBe(2)
        const stored = await askForRows(
          `select toString(uuid) from events where event = '${lost}'`,
          has_uuids ? 1 : 2,
        )
        expect(stored.length).toBe(has_uuids ? 1 : 2)
        await unlucky.context.close()
      },
      TIMEOUT_MS,
    )
  })

  test.each(['1.449.2', '1.261.8'] as const)(
    '%s: exceptions are events',
    async (version) => {
      const { context } = await openVisitor(browser)
      const page = await context.newPage()
      await page.goto(site.address(version, { api_host: server.url }))
      await page.evaluate(`posthog.captureException(new RangeError('out of ${version}'))`)
      await leave(page)
      const exceptions = await askForRows(
        `select JSONExtractString(properties, '$exception_list', 1, 'type'),
           JSONExtractString(properties, '$exception_list', 1, 'value')
         from events where event = '$exception' and properties.$lib_version = '${version}'`,
        1,
      )
      expect(exceptions).toEqual([['RangeError', `out of ${version}`]])
      await context.close()
    },
    TIMEOUT_MS,
  )
})
