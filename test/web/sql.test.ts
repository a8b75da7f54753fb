/** SQL: what is typed, run, shown, filtered, drawn, kept, saved, exported and refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  findBarriers,
  type Interface,
  openInterface,
  SCREENS,
} from './interface.ts'

limitTests(90_000)

let ui: Interface
beforeAll(async () => {
  if (HAS_BROWSER) ui = await openInterface({ demo_persons: 20 })
})
afterAll(() => ui?.[Symbol.asyncDispose]())

const api = (path: string, body: object) =>
  ui.api(`/api/projects/${ui.project}/${path}`, { method: 'POST', body: JSON.stringify(body) })

async function ask(query: string): Promise<readonly unknown[]> {
  const answer = await api('query/', { query: { kind: 'HogQLQuery', query } })
  return (answer as { readonly results: readonly unknown[] }).results
}

const pathOf = (query: string, view = ''): string =>
  `/p/${ui.project}/sql${view === '' ? '' : `?view=${view}`}#q=${encodeURIComponent(JSON.stringify({ kind: 'HogQLQuery', query }))}`

async function open(page: Page, path: string, drawn = 'td'): Promise<void> {
  await page.goto(path)
  await page.locator(drawn).first().waitFor()
}

/** Types key by key: each asks the server what the text means. */
async function typeKeys(page: Page, text: string): Promise<void> {
  await page.getByLabel('HogQL').click()
  await page.keyboard.type(text)
  await page.keyboard.press('Escape')
}

/** Enters a text at once, where its keys do not matter. */
async function type(page: Page, text: string): Promise<void> {
  await page.getByLabel('HogQL').click()
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

const run = (page: Page): Promise<void> => page.keyboard.press('Control+Enter')

/** The cells of the rows that are drawn. */
async function cells(page: Page): Promise<readonly (readonly string[])[]> {
  const rows = await page.locator('tbody tr:not([aria-hidden])').allInnerTexts()
  return rows.map((row) => row.split('\t').map((cell) => cell.trim()))
}

const BY_EVENT = 'select event, count() as n from events group by event order by n desc, event'

describe.skipIf(!HAS_BROWSER)('SQL', () => {
  test('runs what is typed by the keyboard, and shows the rows that the API answers', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    await typeKeys(page, BY_EVENT)
    await run(page)
    await page.locator('td').first().waitFor()
    const rows = (await ask(BY_EVENT)) as readonly [string, number][]
    expect(await cells(page)).toEqual(rows.map(([event, n]) => [event, n.toLocaleString('en-GB')]))
    await page.reload()
    await page.locator('td').first().waitFor()
    // The selected part alone is run.
    await page.getByLabel('HogQL').click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText('nonsense\nselect 41 + 1 as n')
    await page.keyboard.press('Shift+Home')
    await run(page)
    await page.locator('td').getByText('42').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('runs an example by its key, wherever the focus is', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    await page.getByRole('button', { name: /^Events by name/ }).click()
    await page.getByLabel('HogQL').getByText('group by event').waitFor()
    await page.keyboard.press('Control+Enter')
    await page.locator('td').first().waitFor()
    expect(visit.complaints).toEqual([])
  })

  const LIST = '.cm-tooltip-autocomplete'
  test('completes names as one types', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    await page.getByLabel('HogQL').click()
    // So many names have an n that the list for it is cut off: the other letters must not be sought in that one.
    await page.keyboard.type('select n')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.type('nel')
    await page.getByRole('option', { name: 'windowFunnel', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.type(' from events where distinct_i')
    await page.getByRole('option', { name: 'distinct_id' }).first().waitFor()
    // While the list for the last letter is under way, nothing can be chosen of the one before.
    await page.locator(`${LIST}:not(${LIST}-disabled)`).waitFor()
    // The editor ignores Enter for 75 ms after a list has opened, so that no line break becomes a choice.
    await page.waitForTimeout(150)
    await page.keyboard.press('Enter')
    await page.getByLabel('HogQL').getByText('where distinct_id').waitFor()
    // Enter after a number breaks the line: it took exp10.
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.postData() ?? ''))
    await page.keyboard.type(" = 'nobody' limit 10 offset 1 -- dist")
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').first().waitFor()
    expect(await page.locator(LIST).count()).toBe(0)
    expect(asked.filter((body) => /HogQLAutocomplete.*(limit|offset) \d+"/.test(body))).toEqual([])
  })

  longTest(
    'completes the word that is typed while the names for the one before are slow to come',
    async () => {
      await using visit = await ui.visit()
      const { page } = visit
      await page.goto(`/p/${ui.project}/sql`)
      await page.getByLabel('HogQL').click()
      await page.keyboard.type('select ')
      const asked = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      await page.route('**/query/', async (route) => {
        if (/HogQLAutocomplete.*zzzz/.test(route.request().postData() ?? '')) {
          asked.resolve()
          await held.promise
        }
        await route.continue()
      })
      // No name begins like this.
      await page.keyboard.type('zzzz')
      await asked.promise
      await page.keyboard.type(', nne')
      held.resolve()
      await page.getByRole('option', { name: 'windowFunnel', exact: true }).waitFor()
      expect(visit.complaints).toEqual([])
    },
  )

  test('marks what is wrong, says where it stands, and takes the name that was meant', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    await type(page, 'select count() from evnts')
    await page.locator('.cm-lintRange-error').first().waitFor()
    await run(page)
    const refusal = page.getByRole('alert')
    await refusal.getByText('Line 1, column 21').waitFor()
    await refusal.getByRole('button', { name: 'Use events' }).click()
    await page.getByLabel('HogQL').getByText('select count() from events').waitFor()
    await run(page)
    await page.locator('td').first().waitFor()
  })

  longTest('offers the same mend of a function and of a field in the text', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    await type(page, 'select conut(), evnt from events')
    await page.locator('.cm-lintRange-error').first().hover()
    await page.getByRole('button', { name: 'Use count' }).click()
    await page.getByLabel('HogQL').getByText('select count(), evnt from events').waitFor()
  })

  longTest(
    'shows tables with types and example values, which a click puts into the text',
    async () => {
      await using visit = await ui.visit()
      const { page } = visit
      await page.goto(`/p/${ui.project}/sql`)
      const tree = page.getByRole('navigation', { name: 'Tables' })
      await tree.getByText('events', { exact: true }).click()
      await tree.getByRole('button', { name: 'Properties in properties' }).first().click()
      await tree.getByRole('button', { name: 'Example values of $browser', exact: true }).click()
      await page.getByLabel('HogQL').click()
      await page.keyboard.type('select ')
      await tree.getByRole('button', { name: 'Chrome' }).click()
      await page.getByLabel('HogQL').getByText("select 'Chrome'").waitFor()
      expect(await findBarriers(page)).toEqual([])
    },
  )

  longTest(
    'keeps every text: when the page is left, when a tab is closed, in two windows at once',
    async () => {
      await using visit = await ui.visit()
      const { page, context } = visit
      await page.goto(`/p/${ui.project}/sql`)
      await type(page, 'select 1')
      const other = await context.newPage()
      await other.goto(`/p/${ui.project}/sql`)
      await other.getByRole('button', { name: 'New tab' }).click()
      await type(other, 'select 2')
      await page.bringToFront()
      await type(page, ' + 1')
      await page.goto(`/p/${ui.project}/web`)
      await page.goto(`/p/${ui.project}/sql`)
      for (const text of ['select 1 + 1', 'select 2']) {
        await page.getByRole('button', { name: text, exact: true }).waitFor()
      }
      await page.getByRole('button', { name: 'Close select 2' }).click()
      await page
        .getByRole('button', { name: 'select 2', exact: true })
        .waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('button', { name: 'select 2', exact: true }).waitFor()
    },
  )

  test('filters and sorts rows', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const query = "select number, concat('row ', toString(number)) as name from numbers(30)"
    await open(page, pathOf(query))
    await page.getByRole('searchbox', { name: 'Filter rows' }).fill('ROW 2')
    await page.getByText('11 of 30 rows').waitFor()
    await page.getByRole('button', { name: 'number', exact: true }).click()
    expect((await cells(page))[0]).toEqual(['29', 'row 29'])
    await page.reload()
    await page.getByText('11 of 30 rows').waitFor()
  })

  longTest('loads a hundred thousand rows, of which it draws those in sight', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, pathOf('select number as n, number % 7 as r from numbers(100000)'))
    await page.getByRole('button', { name: 'Load up to 100,000' }).click()
    await page.getByText('100,000 rows').waitFor()
    const table = page.getByRole('region', { name: 'Rows' })
    const widthOf = (): Promise<number> =>
      table
        .locator('th')
        .first()
        .evaluate((cell) => cell.clientWidth)
    const width = await widthOf()
    await table.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await table.getByText('99,999', { exact: true }).waitFor()
    expect(await table.locator('tbody tr').count()).toBeLessThan(80)
    expect(await widthOf()).toBe(width)
    expect(visit.complaints).toEqual([])
  })

  longTest('draws lines, bars and numbers, in an address that a reload keeps', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const by_day =
      'select toDate(timestamp) as day, event, count() as n from events group by day, event order by n desc'
    await open(page, pathOf(by_day))
    for (const view of ['Line', 'Bars']) {
      await page.getByText(view, { exact: true }).click()
      await page.getByRole('slider', { name: 'Chart of the rows' }).waitFor()
    }
    await page.reload()
    await page.getByRole('slider', { name: 'Chart of the rows' }).waitFor()
    expect(new URL(page.url()).searchParams.get('view')).toBe('bar')
    expect(await findBarriers(page)).toEqual([])
    await page.goto(pathOf('select count() as everything from events', 'number'))
    const [[count = 0] = []] = (await ask('select count() from events')) as readonly number[][]
    await page.getByText(count.toLocaleString('en-GB'), { exact: true }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  longTest('asks for variables, and saves them with their value as the default', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    // A bracket closes itself.
    await typeKeys(page, 'select {variables.least')
    await page.keyboard.press('End')
    await page.keyboard.type(' + 1 as n')
    const field = page.getByRole('textbox', { name: 'least' })
    await field.fill('41')
    await page.keyboard.press('Enter')
    await page.locator('td').getByText('42').waitFor()
    await page.getByRole('button', { name: 'Save least as a variable' }).click()
    await page.getByText('least is now a variable of this project').waitFor()
    // Now it is a number, with its default.
    await page.getByRole('spinbutton', { name: 'least' }).fill('')
    await run(page)
    await page.locator('td').getByText('42').waitFor()
    await page.reload()
    await page.locator('td').getByText('42').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('saves a query as an insight, opens it again, and saves its changes', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, pathOf(BY_EVENT, 'bar'), 'canvas')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Events by name')
    await page.keyboard.press('Enter')
    await page.getByText('Saved', { exact: true }).waitFor()
    await page.goto(`/p/${ui.project}/sql`)
    await page.getByRole('button', { name: 'Close Events by name' }).click()
    await page.getByRole('button', { name: 'Saved queries' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Events by name/ })
      .click()
    await page.locator('canvas').first().waitFor()
    await page.getByLabel('HogQL').click()
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText(' limit 3')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    const { results } = (await ui.api(`/api/projects/${ui.project}/insights/?insight=SQL`)) as {
      readonly results: readonly { readonly query: unknown; readonly short_id: string }[]
    }
    await page.goto(`/p/${ui.project}/insights/${results[0]?.short_id}`)
    await page.getByRole('link', { name: 'Open in SQL' }).click()
    await page.locator('td').first().waitFor()
    expect(results.map(({ query }) => query)).toEqual([
      {
        kind: 'DataVisualizationNode',
        source: { kind: 'HogQLQuery', query: `${BY_EVENT} limit 3` },
        display: 'ActionsBar',
      },
    ])
    expect(visit.complaints).toEqual([])
  })

  test('cancels a run in the server, and says so', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/sql`)
    const long =
      'select sum(a.number * b.number) from numbers(1000000) a cross join numbers(1000000) b'
    await type(page, long)
    await run(page)
    await page.getByRole('progressbar', { name: 'Progress of the query' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('The server has stopped running it.').waitFor()
  })

  test('saves more rows than an answer has as CSV, JSON lines, Arrow and Parquet', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await open(page, pathOf('select number as n from numbers(60000)'))
    for (const [name, ending] of [
      ['CSV', 'csv'],
      ['JSON lines', 'jsonl'],
      ['Arrow', 'arrows'],
      ['Parquet', 'parquet'],
    ] as const) {
      await page.getByRole('button', { name: 'Export' }).click()
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: `Download ${name}` }).click(),
      ])
      expect(file.suggestedFilename()).toBe(`query.${ending}`)
      const bytes = await Bun.file(await file.path()).bytes()
      expect([name, READERS[ending]?.(bytes)]).toEqual([name, true])
    }
  })

  const PAGEVIEW = { kind: 'EventsNode', event: '$pageview' }
  const CREATED = { kind: 'EventsNode', event: 'document_created' }
  const RANGE = { dateRange: { date_from: '-14d' } }
  const ENTITY = { id: '$pageview', type: 'events' }

  // The tests of Explore open each kind in SQL, too.
  longTest.each([
    { kind: 'TrendsQuery', series: [PAGEVIEW, CREATED], ...RANGE },
    { kind: 'FunnelsQuery', series: [PAGEVIEW, CREATED], ...RANGE },
    {
      kind: 'RetentionQuery',
      retentionFilter: { targetEntity: ENTITY, returningEntity: ENTITY },
      ...RANGE,
    },
    { kind: 'PathsQuery', pathsFilter: { includeEventTypes: ['$pageview'] }, ...RANGE },
    { kind: 'LifecycleQuery', series: [PAGEVIEW], ...RANGE },
    { kind: 'StickinessQuery', series: [PAGEVIEW], ...RANGE },
  ])('a chart of Explore opens as rows: %j', async (query) => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/explore#q=${encodeURIComponent(JSON.stringify(query))}`)
    await page.getByRole('button', { name: 'HogQL', exact: true }).click()
    await page.getByRole('link', { name: 'Open in SQL' }).click()
    await page.locator('td').first().waitFor()
    expect(visit.complaints).toEqual([])
  })

  longTest('copies programs that ask the same', async () => {
    await using visit = await ui.visit()
    const { page, context } = visit
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await open(page, pathOf("select 'it''s' as word"))
    const copied: string[] = []
    for (const name of ['curl', 'Node', 'Python']) {
      await page.getByRole('button', { name: 'Export' }).click()
      await page.getByRole('menuitem', { name: `Copy as ${name}` }).click()
      await page.getByText('Copied').first().waitFor()
      copied.push(await page.evaluate<string>('navigator.clipboard.readText()'))
    }
    const [curl = ''] = copied
    const process = Bun.spawn(['bash', '-c', `curl() { printf '%s' "\${@: -1}"; }; ${curl}`])
    const body = JSON.parse(await new Response(process.stdout).text()) as object
    expect(await api('query/', body)).toMatchObject({ results: [["it's"]] })
    expect(copied.map((text) => text.includes(`/api/projects/${ui.project}/query/`))).toEqual([
      true,
      true,
      true,
    ])
  })

  test.each(devicesOf(0))('is as wide as the window: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    await open(visit.page, pathOf('select {variables.x} as x, event from events'), 'main section')
    await expectFits(visit.page)
  })
})

const lineCount = (bytes: Uint8Array): number =>
  new TextDecoder().decode(bytes).trimEnd().split('\n').length
const endsWith = (bytes: Uint8Array, end: string): boolean =>
  new TextDecoder().decode(bytes.slice(-end.length)) === end

/** Whether a file has sixty thousand rows, or, of binary forms, is whole. */
const READERS: Readonly<Record<string, (bytes: Uint8Array) => boolean>> = {
  csv: (bytes) => lineCount(bytes) === 60_001,
  jsonl: (bytes) => lineCount(bytes) === 60_000,
  arrows: (bytes) => bytes.length > 60_000 * 4,
  parquet: (bytes) => bytes.length > 10_000 && endsWith(bytes, 'PAR1'),
}
