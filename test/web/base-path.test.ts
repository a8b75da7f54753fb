/** The server below a path: pages and their links, the session, answers, SDKs. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { PostHog } from 'posthog-node'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { openWebWorld, type WebWorld } from './web-world.ts'

setDefaultTimeout(60_000)

describe.skipIf(!HAS_BROWSER)('below a base path', () => {
  let world: WebWorld
  beforeAll(async () => {
    world = await openWebWorld({ TIDEMARK_BASE_PATH: '/tools/tidemark' })
  })
  afterAll(() => world.close())

  test('nothing is served outside of it', async () => {
    expect(world.url).toEndWith('/tools/tidemark')
    const { origin } = new URL(world.url)
    for (const path of ['/', '/_health', '/tools', '/tools/tidemarks/_health', '/ui/x.js']) {
      expect([path, (await fetch(origin + path)).status]).toEqual([path, 404])
    }
    for (const path of ['', '/', '/_health', '/login?next=%2F']) {
      expect([path, (await fetch(world.url + path)).status]).toEqual([path, 200])
    }
  })

  test('the pages, their links and the session work, and the login leads back', async () => {
    const tab = await world.setUp()
    const { page, context } = tab
    const pathNow = (): string => new URL(page.url()).pathname
    const [cookie] = await context.cookies(`${world.url}/`)
    expect(cookie).toMatchObject({ path: '/tools/tidemark', httpOnly: true })

    await page.goto(`${world.url}/`)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    expect(pathNow()).toBe('/tools/tidemark/p/1/start')
    await page.getByText(world.url, { exact: true }).first().waitFor()
    await page.getByRole('link', { name: 'Events', exact: true }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
    expect(pathNow()).toBe('/tools/tidemark/p/1/events')
    await page.goto(`${world.url}/project/1/sql`)
    await page.getByRole('heading', { level: 1, name: 'SQL' }).waitFor()
    expect(pathNow()).toBe('/tools/tidemark/p/1/sql')
    expect(tab.complaints).toEqual([])

    await context.clearCookies()
    await page.goto(`${world.url}/p/1/events?event=a`)
    await page.waitForURL('**/tools/tidemark/login?next=*')
    expect(new URL(page.url()).searchParams.get('next')).toBe('/p/1/events?event=a')
    await page.getByLabel('Email').fill('olga@example.com')
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL('**/tools/tidemark/p/1/events?event=a')
  })

  test('SDKs send to it, and links in answers have it', async () => {
    const { api_token, personal_api_key } = world.first
    const client = new PostHog(api_token, { host: world.url, flushAt: 1 })
    client.capture({ distinctId: 'u', event: 'below' })
    expect(await client.getAllFlags('u')).toEqual({})
    await client.shutdown()
    const headers = { Authorization: `Bearer ${personal_api_key}` }
    for (const name of ['a', 'b']) {
      await fetch(`${world.url}/api/projects/1/annotations/`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          content: name,
          date_marker: '2026-01-01T00:00:00Z',
          scope: 'project',
        }),
      })
    }
    const page = await fetch(`${world.url}/api/projects/1/annotations/?limit=1`, { headers })
    const { next } = (await page.json()) as { readonly next: string }
    expect(next).toStartWith(`${world.url}/api/projects/1/annotations/?`)
    expect((await fetch(next, { headers })).status).toBe(200)
    const script = await fetch(`${world.url}/static/array.js`)
    expect(script.status).toBe(200)
  })
})
