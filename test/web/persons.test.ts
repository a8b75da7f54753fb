/** Persons and groups: lists, one group with its persons, and what undoing a merge would change. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { HAS_BROWSER } from '../flows/browser.ts'
import { findBarriers, type Interface, openInterface, sidewaysScroll } from './interface.ts'

setDefaultTimeout(60_000)

let ui: Interface
beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 0 })
  const project = (await ui.api('/api/projects/1/')) as { readonly api_token: string }
  const batch = [
    { event: 'visited', distinct_id: 'anonymous-1' },
    { event: 'logged in', distinct_id: 'ann' },
    {
      event: '$identify',
      distinct_id: 'ann',
      properties: { $anon_distinct_id: 'anonymous-1', $set: { email: 'ann@example.com' } },
    },
    { event: 'opened', distinct_id: 'ann', properties: { $groups: { company: 'acme/north' } } },
    {
      event: '$groupidentify',
      distinct_id: 'ann',
      properties: {
        $group_type: 'company',
        $group_key: 'acme/north',
        $group_set: { name: 'Acme North', seats: 12 },
      },
    },
  ]
  const body = JSON.stringify({ api_key: project.api_token, batch })
  const answer = await fetch(`${ui.server.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
})
afterAll(() => ui?.[Symbol.asyncDispose]())

describe.skipIf(!HAS_BROWSER)('groups', () => {
  test('are listed and searched beside persons; one shows its properties, persons and events', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto('/p/1/persons')
    await page.getByText('company', { exact: true }).click()
    await page.getByRole('searchbox', { name: 'Search by name or key' }).fill('nobody')
    await page.getByText('No group is found').waitFor()
    await page.getByRole('searchbox', { name: 'Search by name or key' }).fill('north')
    await page.getByRole('button', { name: 'Acme North' }).click()
    await page.getByRole('heading', { level: 1, name: 'Acme North' }).waitFor()
    const properties = page.getByRole('region', { name: 'Properties' })
    expect(await properties.locator('dd').allInnerTexts()).toEqual(['Acme North', '12'])
    await page.reload()
    const members = page.getByRole('region', { name: 'Members' })
    await members.getByRole('link', { name: 'ann@example.com' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('link', { name: 'Events', exact: true }).last().click()
    await page.getByRole('button', { name: 'opened', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'visited', exact: true }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test.each([320, 390, 768, 1440])('are as wide as a window of %d px', async (width) => {
    await using visit = await ui.visit({ width })
    for (const path of ['?groups=0', '/group/0/acme%2Fnorth']) {
      await visit.page.goto(`/p/1/persons${path}`)
      await visit.page.getByText('Acme North').first().waitFor()
      expect(await sidewaysScroll(visit.page)).toBe(0)
    }
    expect(visit.complaints).toEqual([])
  })

  test('have no barrier in the dark', async () => {
    await using visit = await ui.visit({ scheme: 'dark' })
    await visit.page.goto('/p/1/persons?groups=0')
    await visit.page.getByText('Acme North').waitFor()
    expect(await findBarriers(visit.page)).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('undoing a merge', () => {
  test('says who would keep which ids, and does it only then', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto('/p/1/persons')
    await page.getByRole('button', { name: 'ann@example.com' }).click()
    await page.getByText('Merges', { exact: true }).click()
    await page.getByRole('button', { name: 'Undo this merge' }).click()
    const dialog = page.getByRole('dialog', { name: 'Undo this merge' })
    const kept = dialog.locator('dd')
    expect((await kept.allInnerTexts()).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'ann',
      'anonymous-1',
    ])
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const persons = async (): Promise<number> =>
      ((await ui.api('/api/projects/1/persons/')) as { readonly results: readonly object[] })
        .results.length
    expect(await persons()).toBe(1)
    await page.getByRole('button', { name: 'Undo this merge' }).click()
    await dialog.getByRole('button', { name: 'Undo the merge' }).click()
    await page.getByText('The merge is undone').waitFor()
    expect(await persons()).toBe(2)
    expect(visit.complaints).toEqual([])
  })
})
