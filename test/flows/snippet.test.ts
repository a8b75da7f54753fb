/** A site that loads the web client from the server itself, as the HTML snippet does, with a survey on it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { EVERY_CASE, limitTests } from '../long-tests.ts'
import { HAS_BROWSER, openBrowser, openVisitor } from './clients/browser.ts'
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
const folder = mkdtempSync(join(tmpdir(), 'tidemark-snippet-'))
let server: Server
let browser: Browser

async function manage(method: string, path: string, body: object): Promise<{ id?: string }> {
  const answer = await fetch(`${server.url}/api/projects/1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${PERSONAL_API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return JSON.parse(await answer.text())
}

/** What a snippet leaves for the library to find: a list of what to begin with, and the script itself. */
const pageOf = (script: string) => `<!doctype html><title>Shop</title><button id="buy">Buy</button>
<script>
window.posthog = Object.assign([], { __SV: 1, people: [], _i: [['${API_TOKEN}', {
  api_host: '${server.url}', opt_out_useragent_filter: true
}, 'posthog']] })
</script>
<script async crossorigin="anonymous" src="${server.url}${script}"></script>`

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!HAS_BROWSER)('a site with the snippet', () => {
  beforeAll(async () => {
    server = await startServer({ data_dir: join(folder, 'data') })
    browser = await openBrowser()
  }, TIMEOUT_MS)

  afterAll(async () => {
    await browser.close()
    await server.stop()
  }, TIMEOUT_MS)

  const SCRIPTS = ['/static/array.js', `/array/${API_TOKEN}/array.js`]
  test.each(EVERY_CASE ? SCRIPTS : SCRIPTS.slice(1))(
    'that loads %s measures its visitors and shows its survey',
    async (script) => {
      await manage('PATCH', '', { surveys_opt_in: true })
      const survey = await manage('POST', 'surveys/', {
        name: `Asked by ${script}`,
        type: 'popover',
        questions: [{ type: 'open', question: 'How was it?' }],
        start_date: '2026-01-01T00:00:00Z',
      })
      const site = Bun.serve({
        port: 0,
        hostname: '127.0.0.1',
        fetch: () =>
          new Response(pageOf(script), { headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
      })
      const { context, complaints } = await openVisitor(browser)
      const page = await context.newPage()
      await page.goto(site.url.href)
      await page.getByText('How was it?').waitFor({ timeout: 50_000 })
      const { results } = await askUntil(
        () =>
          askHogQL(
            server.url,
            `select event, count() from events
             where event in ('$pageview', 'survey shown')
               and (event = '$pageview' or properties.$survey_id = '${String(survey.id)}')
             group by event order by event`,
          ),
        (answer) => answer.results.length === 2,
      )
      expect(results.map(([event]) => event)).toEqual(['$pageview', 'survey shown'])
      expect(complaints).toEqual([])
      await context.close()
      await site.stop(true)
      await manage('PATCH', `surveys/${String(survey.id)}/`, { archived: true })
    },
    TIMEOUT_MS,
  )
})
