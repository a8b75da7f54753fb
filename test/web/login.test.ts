/** Logging in, in Chromium: the first setup, the login, invites, links that set a password. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeLoginLink } from '../../src/projects/users/login-links.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import { checkPage, OWNER, openWebWorld, shoot, type WebWorld } from './web-world.ts'

limitTests(120_000)

describe.skipIf(!HAS_BROWSER)('logging in', () => {
  let web: WebWorld
  beforeAll(async () => {
    web = await openWebWorld()
  })
  afterAll(() => web.close())

  test('begins with a setup that says where its code is, takes it typed, by keyboard alone', async () => {
    const tab = await web.openTab()
    const { page } = tab
    await page.goto(`${web.url}/`)
    await page.waitForURL(`${web.url}/setup`)
    await page.getByRole('heading', { name: 'Set up Tidemark' }).waitFor()
    expect(await page.getByText('tidemark user link').isVisible()).toBe(true)
    await checkPage(tab)
    await shoot(tab, 'setup-typed')
    await page.getByLabel('Setup code').focus()
    await page.keyboard.type('wrong code')
    await page.keyboard.press('Tab')
    for (const text of ['Olga', OWNER.email, OWNER.password]) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    // The button that shows the password is between, and the organization may stay empty.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('This code is not valid').waitFor()
    // The field at fault has the focus, and everything typed is still there.
    await page.locator('input[name=code]:focus').waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe(OWNER.email)
    await checkPage(tab)
    await shoot(tab, 'setup-wrong')
    await page.keyboard.press('Control+A')
    await page.keyboard.type((web.setupLink().split('#')[1] ?? '').toLowerCase())
    await page.keyboard.press('Enter')
    await page.waitForURL(`${web.url}/p/${web.first.project_id}/**`)
    expect(tab.complaints.filter((text) => !/status of 404/.test(text))).toEqual([])
  })

  test('leads back to where it was needed, and out again', async () => {
    const tab = await web.openTab()
    const { page } = tab
    const wanted = `/p/${web.first.project_id}/web?compare=off`
    await page.goto(`${web.url}${wanted}`)
    await page.waitForURL(`${web.url}/login?next=**`)
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await checkPage(tab)
    await shoot(tab, 'login')
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password', { exact: true }).fill('wrong password')
    await page.keyboard.press('Enter')
    await page.getByText('The email address or the password is wrong.').waitFor()
    if (EVERY_CASE) await checkPage(tab)
    await shoot(tab, 'login-wrong')
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL(`${web.url}${wanted}`)
    expect(tab.complaints.filter((text) => !/status of 401/.test(text))).toEqual([])
  })

  test('is ended in all other browsers at once', async () => {
    const { page } = await web.openTab()
    await page.goto(`${web.url}/login?next=/p/${web.first.project_id}/settings/account`)
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    const others = page.getByRole('button', { name: /^Log out Chrome on Linux, 127.0.0.1, / })
    await others.nth(1).waitFor()
    await page.getByRole('button', { name: 'Log out everywhere else' }).press('Enter')
    await others.first().waitFor({ state: 'detached' })
    // The button is gone, and its card has no other.
    await page.locator('main:focus').waitFor()
    await page.reload()
    await page.getByText(/, this browser$/).waitFor()
    expect(await others.count()).toBe(0)
  })

  test('never leads to another server, nor to a script', async () => {
    const { page, context } = await web.openTab()
    for (const next of [
      '//other.example',
      '/\\other.example',
      'https://other.example',
      'javascript:alert(1)',
    ]) {
      await page.goto(`${web.url}/login?next=${encodeURIComponent(next)}`)
      await page.getByLabel('Email').fill(OWNER.email)
      await page.getByLabel('Password', { exact: true }).fill(OWNER.password)
      await page.keyboard.press('Enter')
      await page.waitForURL(`${web.url}/p/**`)
      await context.clearCookies()
    }
    await context.close()
  })

  longTest('takes a new password from a link, once', async () => {
    const link = `${web.url}/reset#${makeLoginLink(web.db, 1, new Date())}`
    const tab = await web.openTab()
    const { page } = tab
    await page.goto(link)
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor()
    await checkPage(tab)
    await shoot(tab, 'reset')
    await page.getByLabel('New password').fill('short')
    await page.keyboard.press('Enter')
    await page.getByText('A password has at least 10 characters.').waitFor()
    await page.getByLabel('New password').fill(OWNER.password)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${web.url}/p/**`)
    const late = await web.openTab()
    await late.page.goto(link)
    await late.page.getByLabel('New password').fill(OWNER.password)
    await late.page.keyboard.press('Enter')
    await late.page.getByRole('heading', { name: 'no longer valid' }).waitFor()
    await checkPage(late)
    await shoot(late, 'reset-over')
  })

  test('lets newcomers in by an invite, and tells when it is over', async () => {
    const login = await web.openContext()
    const headers = { 'X-Tidemark': '1' }
    await login.request.post(`${web.url}/api/login/`, { headers, data: OWNER })
    const path = `${web.url}/api/organizations/@current/invites/`
    const made = await login.request.post(path, { headers, data: { first_name: 'Ann' } })
    const { link } = (await made.json()) as { link: string }
    const tab = await web.openTab()
    const { page } = tab
    await page.goto(link)
    await page.getByRole('heading', { name: 'Join Default organization' }).waitFor()
    expect(await page.getByLabel('Your name').inputValue()).toBe('Ann')
    await checkPage(tab)
    await shoot(tab, 'join')
    await page.getByLabel('Email').fill(OWNER.email)
    await page.getByLabel('Password', { exact: true }).fill('nobody knows it')
    await page.keyboard.press('Enter')
    await page.getByText(/with this email address/).waitFor()
    await page.getByLabel('Email').fill('ann@example.com')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${web.url}/p/**`)
    await page.goto('about:blank')
    await page.goto(link)
    await page.getByRole('heading', { name: 'no longer valid' }).waitFor()
    if (EVERY_CASE) await checkPage(tab)
    await shoot(tab, 'join-over')
  })
})
