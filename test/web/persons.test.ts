/** Persons and groups: lists, one group with its persons, and what undoing a merge would change. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { EVERY_CASE, limitTests, longTest } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectSoon,
  findBarriers,
  type Interface,
  openInterface,
  SCREENS,
  sidewaysScroll,
} from './interface.ts'

limitTests(60_000)

let ui: Interface
beforeAll(async () => {
  if (!HAS_BROWSER) return
  ui = await openInterface({ demo_persons: 0 })
  const batch = [
    { event: 'visited', distinct_id: 'anonymous-1' },
    { event: 'logged in', distinct_id: 'ann' },
    {
      event: 'logged in',
      distinct_id: 'bob',
      properties: { $set: { email: 'bob@example.com', name: 'Bob Ross' } },
    },
    {
      event: '$identify',
      distinct_id: 'ann',
      properties: { $anon_distinct_id: 'anonymous-1', $set: { email: 'ann@example.com' } },
    },
    {
      event: 'opened',
      distinct_id: 'ann',
      properties: { $groups: { company: 'acme/north', team: 'red' } },
    },
    {
      event: '$groupidentify',
      distinct_id: 'ann',
      properties: {
        $group_type: 'company',
        $group_key: 'acme/north',
        $group_set: { name: 'Acme North', seats: 12 },
      },
    },
    {
      event: '$groupidentify',
      distinct_id: 'ann',
      properties: { $group_type: 'team', $group_key: 'red', $group_set: { name: 'The reds' } },
    },
  ]
  const body = JSON.stringify({ api_key: ui.token, batch })
  const answer = await fetch(`${ui.server.url}/batch/`, { method: 'POST', body })
  expect(answer.status).toBe(200)
})
afterAll(() => ui?.[Symbol.asyncDispose]())

describe.skipIf(!HAS_BROWSER)('filters', () => {
  test('narrow persons and groups by their properties, in the address, each list by its own', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons`)
    const rows = page.getByRole('table').getByRole('link')
    await rows.nth(1).waitFor()
    const bob = page.getByRole('link', { name: 'bob@example.com Bob Ross' })
    await bob.waitFor()
    // The whole row leads to the person.
    const row = page.getByRole('row', { name: /Bob Ross/ })
    const address = await row.getByRole('link').getAttribute('href')
    await row.getByRole('cell').last().click()
    await page.waitForURL(`**${address}`)
    await page.goBack()
    await rows.nth(1).waitFor()
    const add = async (property: string, value: string): Promise<void> => {
      await page.getByRole('button', { name: 'Filter', exact: true }).click()
      await page.getByRole('option', { name: property }).click()
      await page.getByRole('option', { name: value }).click()
      await page.getByRole('button', { name: 'Done' }).click()
    }
    await add('email', 'ann@example.com')
    await page.getByRole('button', { name: 'email is ann@example.com', exact: true }).waitFor()
    await bob.waitFor({ state: 'detached' })
    await rows.first().waitFor()
    expect(await rows.allInnerTexts()).toEqual(['ann@example.com'])
    expect(await findBarriers(page)).toEqual([])
    await page.reload()
    await rows.first().waitFor()
    expect(await rows.allInnerTexts()).toEqual(['ann@example.com'])
    await page.getByText('company', { exact: true }).click()
    await page.getByRole('link', { name: 'Acme North' }).waitFor()
    expect(await page.getByRole('button', { name: /^Remove the filter/ }).count()).toBe(0)
    // A property of persons alone is not offered.
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('option', { name: 'seats' }).waitFor()
    expect(await page.getByRole('option').allInnerTexts()).toEqual(['name', 'seats'])
    await page.keyboard.press('Escape')
    await add('seats', '12')
    await page.getByRole('button', { name: 'seats is 12', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Acme North' }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('groups', () => {
  test('are listed and searched beside persons; one shows its properties, persons and events', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons`)
    await page.getByText('company', { exact: true }).click()
    // A text that is pasted may be longer than the server reads of an address.
    await page.getByRole('searchbox', { name: 'Search name or key' }).focus()
    await page.keyboard.insertText('ш'.repeat(100_000))
    await page.getByText('No groups found').waitFor()
    await page.getByRole('searchbox', { name: 'Search name or key' }).fill('nobody')
    await page.getByText('No groups found').waitFor()
    await page.getByRole('searchbox', { name: 'Search name or key' }).fill('north')
    await page.getByRole('link', { name: 'Acme North' }).click()
    await page.getByRole('heading', { level: 1, name: 'Acme North' }).waitFor()
    const properties = page.getByRole('region', { name: 'Properties' })
    expect(await properties.locator('dd').allInnerTexts()).toEqual(['Acme North', '12'])
    await page.reload()
    const history = page.getByRole('region', { name: 'History' })
    await history.getByRole('button', { name: 'opened', exact: true }).click()
    const detail = page.getByRole('dialog')
    await detail.getByText('acme/north').first().waitFor()
    await page.keyboard.press('Escape')
    await history.getByText('Persons', { exact: true }).click()
    await history.getByRole('link', { name: 'ann@example.com' }).waitFor()
    await history.getByText('Groups', { exact: true }).click()
    await history.getByRole('link', { name: 'The reds' }).waitFor()
    expect(await history.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^The reds\s+team$/),
    ])
    await ui.api(`/api/projects/${ui.project}/feature_flags/`, {
      method: 'POST',
      body: JSON.stringify({
        key: 'north-only',
        filters: {
          aggregation_group_type_index: 0,
          groups: [
            {
              properties: [{ key: 'seats', value: [12], type: 'group', group_type_index: 0 }],
              rollout_percentage: 100,
            },
          ],
        },
      }),
    })
    await ui.api(`/api/projects/${ui.project}/feature_flags/`, {
      method: 'POST',
      body: JSON.stringify({ key: 'of-persons' }),
    })
    await history.getByText('Flags', { exact: true }).click()
    await history.getByText('north-only').waitFor()
    expect(await history.getByRole('listitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^north-only\s+on\s+Matched condition set 1$/),
    ])
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('link', { name: 'Live events', exact: true }).click()
    await page.getByRole('button', { name: 'opened', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'visited', exact: true }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  longTest.each(devicesOf(0))(
    'are as wide as the window, and have no barrier in the dark: %s',
    async (device) => {
      await using visit = await ui.visit({ width: SCREENS[device][0], scheme: 'dark' })
      await visit.page.goto(`/p/${ui.project}/persons?groups=0`)
      await visit.page.getByText('Acme North').waitFor()
      expect(await findBarriers(visit.page)).toEqual([])
      await expectFits(visit.page)
      await visit.page.getByRole('link', { name: 'Acme North' }).click()
      await visit.page.getByRole('heading', { level: 1, name: 'Acme North' }).waitFor()
      await expectFits(visit.page)
      expect(visit.complaints).toEqual([])
    },
  )
})

describe.skipIf(!HAS_BROWSER)('a property of a group', () => {
  test('is changed, added and removed in place, and says by which event and by whom', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons/group/0/acme%2Fnorth`)
    const properties = page.getByRole('region', { name: 'Properties' })
    const dialog = page.getByRole('dialog')
    const history = page.getByRole('region', { name: 'History of the property' })
    await properties.getByRole('button', { name: '12' }).click()
    await history.getByText('Set to 12 by the event Group identify').waitFor()
    expect(await history.getByRole('listitem').count()).toBe(1)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('textbox', { name: 'Value' }).fill('40')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await properties.getByRole('button', { name: '40' }).click()
    await history.getByText('Set to 40 by olga@example.com').waitFor()
    await dialog.getByRole('button', { name: 'Remove seats' }).click()
    await properties.getByRole('button', { name: '40' }).waitFor({ state: 'detached' })
    await properties.getByRole('button', { name: 'Add' }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('seats')
    await dialog.getByRole('textbox', { name: 'Value' }).fill('[1, "<b>"]')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await properties.getByRole('button', { name: '[1,"<b>"]' }).click()
    await history.getByText('Set to [1,"<b>"] by olga@example.com').waitFor()
    await expectSoon(
      () => history.locator('span').allInnerTexts(),
      [
        'Set to [1,"<b>"] by olga@example.com',
        'Removed by olga@example.com',
        'Set to 40 by olga@example.com',
        'Set to 12 by the event Group identify',
      ],
    )
    const path = `/api/projects/${ui.project}/groups/find/?group_type_index=0&group_key=acme%2Fnorth`
    expect(await ui.api(path)).toMatchObject({
      group_properties: { name: 'Acme North', seats: [1, '<b>'] },
    })
    expect(visit.complaints).toEqual([])
  })

  longTest('that the server refuses stays in the dialog, with the reason', async () => {
    await using visit = await ui.visit({ width: 320, scheme: 'dark' })
    const { page } = visit
    await page.route('**/groups/update_property/**', (route) =>
      route.fulfill({
        status: 400,
        json: {
          type: 'validation_error',
          code: 'invalid_input',
          detail: 'Too large.',
          attr: 'value',
        },
      }),
    )
    await page.goto(`/p/${ui.project}/persons/group/0/acme%2Fnorth`)
    await page.getByRole('button', { name: 'Acme North' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Value' }).fill('kept')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Too large.').waitFor()
    expect(await dialog.getByRole('textbox', { name: 'Value' }).inputValue()).toBe('kept')
    expect(await sidewaysScroll(page)).toBe(0)
    expect(await findBarriers(page)).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('a group', () => {
  longTest('is deleted after a query, by keyboard, and is no longer in the list', async () => {
    await using visit = await ui.visit({ width: 320, scheme: 'dark' })
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons?groups=1`)
    await page.getByRole('link', { name: 'The reds' }).click()
    await page.getByRole('heading', { name: 'The reds' }).waitFor()
    const open = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Actions of the group' }).press('Enter')
      await page.getByRole('menuitem', { name: 'Delete' }).press('Enter')
    }
    const keys = async (): Promise<readonly unknown[]> => {
      const list = (await ui.api(`/api/projects/${ui.project}/groups/?group_type_index=1`)) as {
        readonly results: readonly { readonly group_key: string }[]
      }
      return list.results.map(({ group_key }) => group_key)
    }
    await open()
    const dialog = page.getByRole('dialog', { name: 'Delete this group' })
    await dialog.getByText('Events keep its key').waitFor()
    expect(await sidewaysScroll(page)).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(await keys()).toEqual(['red'])
    await open()
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByText('Group deleted').waitFor()
    await page.getByText('No groups found').waitFor()
    expect(new URL(page.url()).search).toBe('?groups=1')
    expect(await keys()).toEqual([])
    expect(visit.complaints).toEqual([])
  })
})

describe.skipIf(!HAS_BROWSER)('a property', () => {
  test('is changed in place, and says which events and who changed it before', async () => {
    const sent = (event: string, timestamp: string, properties: object) => ({
      event,
      distinct_id: 'hal',
      timestamp,
      properties,
    })
    const batch = [
      sent('signed up', '2026-01-02T10:00:00Z', { $set_once: { plan: 'free' } }),
      sent('$set', '2026-01-03T10:00:00Z', { $set: { plan: '<b>pro</b>', 'odd "key\'': [1] } }),
      sent('left', '2026-01-04T10:00:00Z', { $unset: ['plan'] }),
      sent('came back', '2026-01-05T10:00:00Z', { $set: { plan: 'team', email: 'hal@x.example' } }),
    ]
    const body = JSON.stringify({ api_key: ui.token, batch })
    expect((await fetch(`${ui.server.url}/batch/`, { method: 'POST', body })).status).toBe(200)
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons?search=hal@x.example`)
    await page.getByRole('link', { name: 'hal@x.example' }).click()
    const properties = page.getByRole('region', { name: 'Properties' })
    await properties.getByRole('button', { name: 'team' }).click()
    const region = page.getByRole('region', { name: 'History of the property' })
    const history = region.getByRole('listitem')
    const texts = async (): Promise<readonly string[]> => {
      await history.first().waitFor()
      return history.locator('span').allInnerTexts()
    }
    const before = [
      'Set to "team" by the event came back',
      'Removed by the event left',
      'Set to "<b>pro</b>" by the event $set',
      'Set once, to "free" by the event signed up',
    ]
    expect((await texts()).map((text) => text.replace(/\s+/g, ' '))).toEqual(
      before.map((text) => expect.stringMatching(wordsOf(text))),
    )
    expect(await findBarriers(page)).toEqual([])
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Value' }).fill('enterprise')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Changed').waitFor()
    await properties.getByRole('button', { name: 'enterprise' }).click()
    await page.getByText('Set to "enterprise" by olga@example.com').waitFor()
    await page.keyboard.press('Escape')
    await properties.getByRole('button', { name: '[1]' }).click()
    await page.getByText(/Set to \[1\] by the event/).waitFor()
    expect(visit.complaints).toEqual([])
  })

  longTest.each(EVERY_CASE ? [320, 390] : [320])(
    'has its history in a window of %d px, in the dark',
    async (width) => {
      await using visit = await ui.visit({ width, scheme: 'dark' })
      const { page } = visit
      await page.goto(`/p/${ui.project}/persons?search=hal@x.example`)
      await page.getByRole('link', { name: 'hal@x.example' }).click()
      await page.getByRole('button', { name: 'enterprise' }).click()
      await page.getByText(/^Set to "team"/).waitFor()
      expect(await sidewaysScroll(page)).toBe(0)
      expect(await findBarriers(page)).toEqual([])
    },
  )
})

/** Names of events are shown in words of the interface. */
const wordsOf = (text: string): RegExp =>
  new RegExp(`^${text.replace(/by the event .*/, 'by the event .+')}$`)

describe.skipIf(!HAS_BROWSER)('undoing a merge', () => {
  test('says who would keep which ids, and does it only then', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/persons`)
    await page.getByRole('link', { name: 'ann@example.com' }).click()
    await page.getByText('Merges', { exact: true }).click()
    await page.getByRole('button', { name: 'Undo this merge' }).click()
    const dialog = page.getByRole('dialog', { name: 'Undo this merge' })
    const cells = async (): Promise<readonly (readonly string[])[]> => {
      await dialog.getByRole('row').nth(1).waitFor()
      const rows = await dialog.getByRole('row').allInnerTexts()
      return rows.map((row) => row.split('\t'))
    }
    expect(await cells()).toEqual([
      ['', 'ann@example.com', 'The other person'],
      ['Has', 'ann', 'anonymous-1'],
      ['Distinct ids', '1', '1'],
      // One event came before she was known.
      ['Events', '5', '1'],
      ['Properties', expect.any(String), expect.any(String)],
      ['Cohorts', '0', '0'],
    ])
    await dialog.getByText('ann@example.com loses no property and no cohort.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    const persons = async (): Promise<number> =>
      (
        (await ui.api(`/api/projects/${ui.project}/persons/`)) as {
          readonly results: readonly object[]
        }
      ).results.length
    const merged = await persons()
    await page.getByRole('button', { name: 'Undo this merge' }).click()
    await dialog.getByRole('button', { name: 'Undo the merge' }).click()
    await page.getByText('Merge undone').waitFor()
    expect(await persons()).toBe(merged + 1)
    expect(visit.complaints).toEqual([])
  })
})
