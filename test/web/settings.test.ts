/** Settings in Chromium: the project, people, keys, the account. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { sidewaysScroll } from './interface.ts'
import { checkPage, OWNER, openWebWorld, shoot, type Tab, type WebWorld } from './web-world.ts'

limitTests(120_000)

describe.skipIf(!HAS_BROWSER)('settings', () => {
  let web: WebWorld
  let owner: Tab
  beforeAll(async () => {
    web = await openWebWorld()
    owner = await web.setUp()
  })
  afterAll(() => web.close())

  const open = async (section: string): Promise<Tab['page']> => {
    await owner.page.goto(`${web.url}/p/${web.first.project_id}/settings/${section}`)
    await owner.page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
    return owner.page
  }

  test('change the project, and make another one', async () => {
    const page = await open('project')
    await page.getByLabel('Name', { exact: true }).fill('Shop')
    await page.getByLabel('Time zone').selectOption('Europe/Berlin')
    await page.getByLabel('Weeks begin on').selectOption('1')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Project saved').waitFor()
    const answer = await page.request.get(`${web.url}/api/projects/@current/`, {
      headers: { 'X-Tidemark': '1' },
    })
    expect(await answer.json()).toMatchObject({
      name: 'Shop',
      timezone: 'Europe/Berlin',
      week_start_day: 1,
    })
    await checkPage(owner)
    await shoot(owner, 'settings-project')
    await page.getByLabel('Name of the new project').fill('Second')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.waitForURL(`${web.url}/p/2/start`)
    expect(owner.complaints).toEqual([])
  })

  test('invite somebody by a link that is shown once, and take it back', async () => {
    const page = await open('people')
    await page.getByLabel('Email (optional)').fill('ann@example.com')
    await page.getByRole('button', { name: 'Create invite link' }).click()
    const link = await page.locator('dialog code').innerText()
    expect(link).toStartWith(`${web.url}/join#`)
    await checkPage(owner)
    await shoot(owner, 'settings-invite')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('ends in 3 days').waitFor()
    const ann = await web.openTab()
    await ann.page.goto(link)
    await ann.page.getByLabel('Your name').fill('Ann')
    await ann.page.getByLabel('Password', { exact: true }).fill('nobody knows it')
    await ann.page.keyboard.press('Enter')
    await ann.page.waitForURL(`${web.url}/p/**`)
    await open('people')
    await page.getByText('Ann', { exact: true }).waitFor()
    await checkPage(owner)
    await shoot(owner, 'settings-people')
    await page.getByRole('button', { name: 'Remove Ann' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('Ann', { exact: true }).waitFor({ state: 'detached' })
    expect(owner.complaints).toEqual([])
  })

  test('let a member leave, who then sees that no project is left', async () => {
    const invite = await owner.page.request.post(`${web.url}/api/organizations/@current/invites/`, {
      headers: { 'X-Tidemark': '1' },
      data: { level: 1 },
    })
    const bob = await web.openTab()
    await bob.page.goto(((await invite.json()) as { readonly link: string }).link)
    await bob.page.getByLabel('Your name').fill('Bob')
    await bob.page.getByLabel('Email').fill('bob@example.com')
    await bob.page.getByLabel('Password', { exact: true }).fill('nobody knows it')
    await bob.page.keyboard.press('Enter')
    await bob.page.waitForURL(`${web.url}/p/**`)
    await bob.page.goto(`${web.url}/p/${web.first.project_id}/settings/people`)
    await bob.page.getByRole('button', { name: /^Leave / }).click()
    await bob.page.getByRole('button', { name: 'Leave', exact: true }).click()
    await bob.page.getByText('You are not a member of a project').waitFor()
    expect(new URL(bob.page.url()).pathname).toBe('/')
    expect(await bob.page.getByRole('dialog').count()).toBe(0)
    // A request that is under way when the membership ends may be refused.
    const faults = bob.complaints.filter((one) => !one.includes('404 (Not Found)'))
    expect(faults).toEqual([])
  })

  test('say what is refused, and show what is stored', async () => {
    const page = await open('people')
    // One's own level is not for oneself to change.
    expect(await page.getByRole('combobox', { name: /^Level of/ }).count()).toBe(0)
    await page.getByRole('button', { name: /^Leave / }).click()
    await page.getByRole('button', { name: 'Leave', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Email (optional)').fill('ann at example.com')
    await page.getByRole('button', { name: 'Create invite link' }).click()
    await page.getByText('Enter a valid email address.').waitFor()
    // The browser notes each refusal.
    expect(owner.complaints.splice(0).map((one) => /status of (\d+)/.exec(one)?.[1])).toEqual([
      '400',
      '400',
    ])
  })

  test('fit onto a phone, however long the name of a project is', async () => {
    const page = await open('project')
    await page.getByLabel('Name', { exact: true }).fill('Long'.repeat(16))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Project saved').waitFor()
    await open('keys')
    await page.getByRole('switch', { name: /^In “Long/ }).waitFor()
    const before = page.viewportSize() ?? { width: 1440, height: 900 }
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await sidewaysScroll(page)).toBe(0)
    await page.setViewportSize(before)
  })

  test('make a key that is shown once and works, and revoke it', async () => {
    const page = await open('keys')
    await page.getByText('At most 40 characters.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Report')
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = await page.locator('dialog code').innerText()
    const ask = () =>
      fetch(`${web.url}/api/projects/1/query/`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: { kind: 'HogQLQuery', query: 'select 1' } }),
      })
    expect((await ask()).status).toBe(200)
    await page.getByRole('button', { name: 'Done' }).click()
    await checkPage(owner)
    await shoot(owner, 'settings-keys')
    await page.getByRole('button', { name: 'Revoke Report' }).click()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('Report', { exact: true }).waitFor({ state: 'detached' })
    expect((await ask()).status).toBe(401)
    expect(owner.complaints).toEqual([])
  })

  longTest(
    'change the password, which ends other sessions, and list those that are left',
    async () => {
      const phone = await web.openContext({ userAgent: 'Mozilla/5.0 (iPhone) Safari/605' })
      const headers = { 'X-Tidemark': '1' }
      await phone.request.post(`${web.url}/api/login/`, { headers, data: OWNER })
      const page = await open('account')
      await page.getByText('Safari on iPhone').waitFor()
      await checkPage(owner)
      await shoot(owner, 'settings-account')
      await page.getByLabel('Current password').fill(OWNER.password)
      await page.getByLabel('New password').fill('another good one')
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('Password changed.').waitFor()
      await page.getByText('Safari on iPhone').waitFor({ state: 'detached' })
      const session = await phone.request.get(`${web.url}/api/session/`, { headers })
      expect(await session.json()).toEqual({ state: 'out' })
      expect(owner.complaints).toEqual([])
    },
  )
})
