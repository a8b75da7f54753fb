/** The road from an empty folder to a first event, a session that ends in mid-work, and two tabs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sessions } from '../../src/projects/tables.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { checkPage, OWNER, openWebWorld, shoot, type Tab, type WebWorld } from './web-world.ts'

limitTests(120_000)

describe.skipIf(!HAS_BROWSER)('start', () => {
  let web: WebWorld
  let owner: Tab
  beforeAll(async () => {
    web = await openWebWorld()
  })
  afterAll(() => web.close())

  const capture = (event: string): Promise<Response> =>
    fetch(`${web.url}/capture/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: web.first.api_token, event, distinct_id: 'ann' }),
    })

  test('is reached from the printed link, and shows the first event as it arrives', async () => {
    owner = await web.openTab()
    const { page } = owner
    await page.goto(web.setupLink())
    await page.getByLabel('Your name').fill('Olga')
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.waitForURL(`${web.url}/p/${web.first.project_id}/start`)
    await page.getByRole('heading', { name: 'Waiting for the first event' }).waitFor()
    await checkPage(owner)
    await shoot(owner, 'start-waiting')
    // The curl command of the page is what a person would paste.
    await page.getByText('curl', { exact: true }).click()
    const command = await page.getByRole('region', { name: 'Code' }).innerText()
    const child = Bun.spawn(['sh', '-c', `${command} --silent`], { stdout: 'pipe' })
    expect(await new Response(child.stdout).text()).toBe('{"status":1}')
    await page.getByRole('heading', { name: 'Events are arriving' }).waitFor()
    expect(await page.getByText('first event', { exact: true }).isVisible()).toBe(true)
    await checkPage(owner)
    await shoot(owner, 'start-arrived')
    await page.getByRole('link', { name: 'Web analytics' }).click()
    await page.waitForURL(`${web.url}/p/${web.first.project_id}/web`)
    expect(owner.complaints).toEqual([])
  })

  longTest('shows what the snippet of the page sends', async () => {
    const { page } = owner
    await page.goto(`${web.url}/p/${web.first.project_id}/start`)
    const snippet = await page.getByRole('region', { name: 'Code' }).innerText()
    // The library sends nothing from a browser that says it is headless.
    const opened = snippet.replace('api_host', 'opt_out_useragent_filter: true, api_host')
    const site = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(`<!doctype html><title>Shop</title>${opened}`, {
          headers: { 'Content-Type': 'text/html' },
        }),
    })
    const visitor = await web.openContext()
    await (await visitor.newPage()).goto(`${site.url.origin}/shop`)
    await page.getByText(`${site.url.origin}/shop`).waitFor({ timeout: 30_000 })
    await visitor.close()
    await site.stop(true)
  })

  test('makes a demo project beside real events, tells its progress, and leads on', async () => {
    const { page } = owner
    await page.goto(`${web.url}/p/${web.first.project_id}/start`)
    await page.getByRole('button', { name: 'Create a demo project' }).click()
    await page.waitForURL((url) => !url.pathname.startsWith(`/p/${web.first.project_id}/`))
    await page.getByRole('progressbar', { name: 'Demo data' }).waitFor()
    await shoot(owner, 'start-demo')
    await page.getByText(/demo events are here/).waitFor({ timeout: 90_000 })
    await page.getByText('Events are arriving').waitFor()
    await checkPage(owner)
    // One main thing to do, whatever the page shows.
    expect(await page.locator('main [class*=main_]').allInnerTexts()).toEqual(['Web analytics'])
    await shoot(owner, 'start-demo-done')
    await page.getByRole('link', { name: 'Explore' }).last().click()
    await page.waitForURL('**/explore')
    expect(owner.complaints).toEqual([])
  })

  longTest(
    'a session that ends in mid-work is begun again over the page, and nothing typed is lost',
    async () => {
      const { page } = owner
      await page.goto(`${web.url}/p/${web.first.project_id}/sql`)
      const editor = page.locator('.cm-content')
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.keyboard.type("select 'typed before the end'")
      web.db.delete(sessions).run()
      await page.keyboard.press('Control+Enter')
      await page.getByRole('heading', { name: 'Log in to continue' }).waitFor()
      await checkPage(owner)
      await shoot(owner, 'login-again')
      expect(await page.getByLabel('Email').inputValue()).toBe(OWNER.email)
      await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Log in to continue' }).waitFor({ state: 'detached' })
      expect(page.url()).toStartWith(`${web.url}/p/${web.first.project_id}/sql`)
      await editor.getByText('typed before the end').waitFor()
      await editor.click()
      await page.keyboard.press('Control+Enter')
      await page.getByText('typed before the end').nth(1).waitFor()
    },
  )

  longTest('two tabs log out and in together', async () => {
    const other = await web.openTab({ context: owner.context })
    await other.page.goto(`${web.url}/p/${web.first.project_id}/start`)
    await other.page.getByRole('heading', { name: 'Start', exact: true }).waitFor()
    await owner.page.goto(`${web.url}/p/${web.first.project_id}/start`)
    await owner.page.getByRole('button', { name: 'Olga' }).first().click()
    await owner.page.getByRole('menuitem', { name: 'Log out' }).click()
    await owner.page.waitForURL(`${web.url}/login`)
    await other.page.getByRole('heading', { name: 'Log in to continue' }).waitFor()
    await owner.page.getByLabel('Email').fill(OWNER.email)
    await owner.page.getByLabel('Password', { exact: true }).fill(OWNER.password)
    await owner.page.keyboard.press('Enter')
    await owner.page.waitForURL(`${web.url}/p/**`)
    await other.page
      .getByRole('heading', { name: 'Log in to continue' })
      .waitFor({ state: 'detached' })
    expect((await capture('after')).status).toBe(200)
    await other.page.getByText('after', { exact: true }).waitFor()
  })
})
