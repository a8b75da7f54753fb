/** Flags: made, tried, changed, switched, deleted in the browser; what the page does not edit stays. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ShownFlag } from '../../src/web/api/types/shown-flag.ts'
import { FLAG_CODES } from '../../src/web/pages/flags/flag-code.ts'
import {
  bodyOf,
  copyOf,
  type DraftedFlag,
  draftOf,
  NEW_FLAG,
  readDraft,
  removeVariant,
  shareEvenly,
} from '../../src/web/pages/flags/flag-draft.ts'
import { releaseText } from '../../src/web/pages/flags/release-text.ts'
import { HAS_BROWSER } from '../flows/clients/browser.ts'
import { limitTests } from '../long-tests.ts'
import {
  devicesOf,
  expectFits,
  expectOpen,
  expectSoon,
  type Interface,
  openInterface,
  SCREENS,
  schemesOf,
} from './interface.ts'

limitTests(120_000)

const STORED: ShownFlag = {
  id: 7,
  key: 'new-checkout',
  name: 'The shorter one',
  active: true,
  archived: false,
  version: 1,
  can_edit: true,
  created_at: '2026-11-01T00:00:00Z',
  updated_at: '2026-11-01T00:00:00Z',
  created_by: null,
  last_modified_by: null,
  filters: {
    groups: [
      {
        properties: [
          { key: 'plan', type: 'person', operator: 'exact', value: ['pro'] },
          { key: '3', type: 'flag', operator: 'flag_evaluates_to', value: true },
        ],
        rollout_percentage: 12.5,
        variant: 'test',
        description: 'those who pay',
      },
      { properties: [], rollout_percentage: null, variant: null },
    ],
    multivariate: {
      variants: [
        { key: 'control', name: 'The old one', rollout_percentage: 50 },
        { key: 'test', rollout_percentage: 50 },
      ],
    },
    payloads: { test: '{"steps":2}' },
    aggregation_group_type_index: null,
    super_groups: [{ properties: [], rollout_percentage: 100 }],
  },
}

describe('the draft of a flag', () => {
  test('is stored as the flag was, with all that the page does not edit', () => {
    const { key, name, filters } = STORED
    expect(bodyOf(draftOf(STORED), STORED)).toEqual({ key, name, filters })
  })
  test('of a copy has all that its original has, and stays one in an address', () => {
    const original = {
      ...STORED,
      filters: {
        ...STORED.filters,
        holdout: { id: 3, exclusion_percentage: 10 },
        early_exit: true,
      },
      evaluation_runtime: 'server',
      tags: ['checkout'],
      version: 12,
    }
    const copy = readDraft(JSON.parse(JSON.stringify(copyOf(original, draftOf(original)))))
    if (copy === null) throw new Error('no draft')
    expect(bodyOf(copy, null)).toEqual({
      key: 'new-checkout-copy',
      name: STORED.name,
      active: true,
      filters: original.filters,
      evaluation_runtime: 'server',
      tags: ['checkout'],
    })
    // Of a stored flag an address changes what the page edits.
    expect(bodyOf(copy, STORED)).toMatchObject({ filters: STORED.filters })
    expect(bodyOf(copy, STORED)).not.toHaveProperty('tags')
  })
  test('of a flag without conditions is for everyone, as the flag is', () => {
    for (const filters of [{}, { groups: null }]) {
      const draft = draftOf({ ...STORED, filters })
      expect(releaseText(draft)).toBe('Everyone')
      expect(bodyOf(draft, { ...STORED, filters })).toMatchObject({
        filters: { groups: [{ properties: [], rollout_percentage: null }] },
      })
    }
    expect(draftOf({ ...STORED, filters: { groups: [] } }).conditions).toEqual([])
  })
  test('comes back from an address, and from nothing else', () => {
    const draft = draftOf(STORED)
    expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft)
    for (const odd of [null, 1, 'key', [], {}, { key: 1 }, { key: 'a', conditions: {} }]) {
      expect(readDraft(odd)).toBeNull()
    }
    const bent = { key: 'a', conditions: [null, 1, { properties: 1, share: {} }], variants: 'x' }
    expect(readDraft(bent)).toMatchObject({ key: 'a', variants: [], conditions: { length: 3 } })
  })
  test('of a removed variant has no condition that names it', () => {
    const draft = draftOf(STORED)
    const changed: DraftedFlag = { ...draft, ...removeVariant(draft, 1) }
    expect(changed.conditions.map(({ variant }) => variant)).toEqual(['', ''])
    expect(bodyOf(changed, STORED)).toMatchObject({ filters: { payloads: {} } })
  })
  test('has equal shares that add up to 100', () => {
    const [one] = draftOf(STORED).variants
    if (one === undefined) throw new Error('no variant')
    expect(shareEvenly([one, one, one]).map(({ share }) => share)).toEqual(['34', '33', '33'])
  })
  test('is read by code that asks for a variant other than control', () => {
    const codeOf = (draft: DraftedFlag): string | undefined =>
      FLAG_CODES[0]?.code({ draft, group_type: null, url: '', token: '' })
    const draft = draftOf(STORED)
    expect(codeOf(draft)).toContain('=== "test"')
    expect(codeOf({ ...draft, variants: draft.variants.slice(0, 1) })).toContain('=== "control"')
    expect(codeOf({ ...draft, variants: [] })).toContain('isFeatureEnabled')
  })
  test('is told in a few words', () => {
    const [condition] = NEW_FLAG.conditions
    if (condition === undefined) throw new Error('no condition')
    const texts = [
      NEW_FLAG,
      { ...NEW_FLAG, conditions: [] },
      { ...NEW_FLAG, conditions: [{ ...condition, share: '0' }] },
      { ...NEW_FLAG, conditions: [{ ...condition, share: '33' }] },
      { ...NEW_FLAG, group_type: 0 },
      draftOf(STORED),
      { ...draftOf(STORED), conditions: draftOf(STORED).conditions.slice(0, 1), variants: [] },
    ].map(releaseText)
    expect(texts).toEqual([
      'Everyone',
      'Nobody',
      'Nobody',
      '33% of persons',
      'All groups',
      '2 conditions · control, test',
      'plan is pro and 1 more: 12.5%',
    ])
  })
})

describe.skipIf(!HAS_BROWSER)('a flag', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 30 })
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const findFlag = async (key: string): Promise<ShownFlag | undefined> => {
    const path = `/api/projects/${ui.project}/feature_flags/?key=${key}`
    return ((await ui.api(path)) as { readonly results: readonly ShownFlag[] }).results[0]
  }

  test('is made, tried, changed, switched and deleted', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags`)
    await page.getByRole('link', { name: 'New flag' }).click()
    await page.getByLabel('Key').fill('short checkout')
    await page.getByRole('button', { name: 'Create flag' }).click()
    await page.getByText('Only letters, numbers, hyphens').waitFor()
    await page.getByLabel('Key').fill('short-checkout')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('combobox', { name: 'Property' }).fill('plan')
    await page.getByRole('option', { name: 'plan' }).click()
    await page.getByRole('combobox', { name: 'Values' }).fill('platinum')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText(/^0 of \d+ persons/).waitFor()
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await page.getByLabel('Rollout of condition 2 in percent').fill('100')
    await page.getByText('Variants', { exact: true }).click()
    await page.getByLabel('Share in %').first().fill('0')
    await page.getByText('The shares add up to 50%').waitFor()
    await page.getByLabel('Share in %').nth(1).fill('100')
    await page.getByLabel('Payload').nth(1).fill('{"steps":2}')
    await page.getByRole('button', { name: 'Create flag' }).click()
    await page.getByRole('heading', { level: 1, name: 'short-checkout' }).waitFor()
    expect((await findFlag('short-checkout'))?.filters).toMatchObject({
      groups: [
        { properties: [{ key: 'plan', value: ['platinum'] }], rollout_percentage: 100 },
        { properties: [], rollout_percentage: 100 },
      ],
      payloads: { test: '{"steps":2}' },
    })
    await page.getByLabel('Distinct id').fill('ann')
    await page.getByRole('button', { name: 'Try' }).click()
    await page.getByText('{"steps":2}').waitFor()
    await page.getByText('Condition 2: This condition set decided the value').waitFor()
    // Unsaved changes survive a reload, and are gone after Revert.
    await page.getByLabel('Description').fill('Two steps')
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.reload()
    await expectSoon(() => page.getByLabel('Description').inputValue(), 'Two steps')
    await page.getByRole('button', { name: 'Revert' }).click()
    await expectSoon(() => page.getByLabel('Description').inputValue(), '')
    await page.getByLabel('Description').fill('Three steps')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await expectSoon(async () => (await findFlag('short-checkout'))?.name, 'Three steps')
    await page.getByRole('switch', { name: 'On' }).click()
    await page.getByText('short-checkout is off').waitFor()
    expect((await findFlag('short-checkout'))?.active).toBe(false)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('switch', { name: 'On' }).waitFor()
    expect((await findFlag('short-checkout'))?.active).toBe(true)
    await page.getByRole('button', { name: 'Actions of the flag' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('short-checkout deleted').waitFor()
    await expectSoon(() => page.getByRole('link', { name: 'short-checkout' }).count(), 0)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'short-checkout' }).waitFor()
    // The one complaint is about the refused key.
    expect(visit.complaints.filter((text) => !text.includes('400'))).toEqual([])
  })

  test('of the list is found, switched, and opened from the palette', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags?search=pdf`)
    await page.getByText('plan is pro or team').waitFor()
    expect(
      await page
        .getByRole('listitem')
        .filter({ has: page.getByRole('switch') })
        .count(),
    ).toBe(1)
    await page.getByRole('switch', { name: 'export-to-pdf is on' }).click()
    await page.getByText('export-to-pdf is off').waitFor()
    await page.getByText('On', { exact: true }).click()
    await page.getByText('No flags found').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('export-to')
    await page.getByRole('option', { name: 'export-to-pdf' }).click()
    await page.getByRole('heading', { level: 1, name: 'export-to-pdf' }).waitFor()
    await page.getByRole('switch', { name: 'Off' }).click()
    await page.getByText('export-to-pdf is on').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('is switched without a step back', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags?search=pdf`)
    const one = page.getByRole('switch', { name: 'export-to-pdf is on' })
    await one.waitFor()
    // A browser switches by itself: what the page draws then would be a step back.
    await page.evaluate(`{
      const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'checked')
      const set = (value) => drawn.push(value)
      globalThis.drawn = []
      const get = () => own.get.call(document.querySelector('[role=switch]'))
      Object.defineProperty(document.querySelector('[role=switch]'), 'checked', { get, set })
    }`)
    for (const state of ['off', 'on']) {
      await one.click()
      await page.getByText(`export-to-pdf is ${state}`, { exact: true }).last().waitFor()
    }
    expect(await page.evaluate<unknown>('drawn')).toEqual([])
    expect(visit.complaints).toEqual([])
  })

  test('shows the wanted state until the server answers, and its own again when that refuses', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const flags = '**/api/projects/*/feature_flags/*/'
    await page.goto(`/p/${ui.project}/flags?search=pdf`)
    const one = page.getByRole('switch', { name: 'export-to-pdf is on' })
    await one.waitFor()
    const was_on = await one.isChecked()
    const answered = Promise.withResolvers<void>()
    await page.route(flags, async (route) => {
      await answered.promise
      await route.fulfill({ status: 400, json: { detail: 'You may not switch it.' } })
    })
    await one.click()
    // The list is drawn again meanwhile.
    await page.getByRole('searchbox').fill('pd')
    await page.waitForURL(/search=pd$/)
    expect(await one.isChecked()).toBe(!was_on)
    answered.resolve()
    await page.getByText('You may not switch it.').waitFor()
    await expectSoon(() => one.isChecked(), was_on)
    await page.unroute(flags)
  })

  test('is not saved over the changes of others without a word', async () => {
    const path = `/api/projects/${ui.project}/feature_flags/`
    const send = async (method: string, at: string, body: object): Promise<ShownFlag> =>
      (await ui.api(at, { method, body: JSON.stringify(body) })) as ShownFlag
    const { id } = await send('POST', path, { key: 'shared', filters: { groups: [] } })
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags/${id}`)
    await page.getByLabel('Description').fill('Mine')
    await send('PATCH', `${path}${id}/`, { name: 'Theirs' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('changed in the meantime').waitFor()
    expect((await findFlag('shared'))?.name).toBe('Theirs')
    await page.getByRole('button', { name: 'Add a condition' }).click()
    const rollout = page.getByLabel('Rollout of condition 1 in percent')
    await rollout.clear()
    await rollout.pressSequentially('20e')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await findFlag('shared')).toMatchObject({
      name: 'Mine',
      filters: { groups: [{ rollout_percentage: 20 }] },
    })
  })

  test('by a condition of its own for companies is counted by company', async () => {
    const { id } = (await ui.api(`/api/projects/${ui.project}/feature_flags/`, {
      method: 'POST',
      body: JSON.stringify({
        key: 'mixed',
        filters: { groups: [{ properties: [] }, { aggregation_group_type_index: 0 }] },
      }),
    })) as ShownFlag
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags/${id}`)
    await page.getByText(/of \d+ persons/).waitFor()
    await page.getByText(/of \d+ groups/).waitFor()
    await page.goto(`/p/${ui.project}/flags/%25`)
    await page.getByText('Flag not found').waitFor()
  })

  test('for companies is counted and tried by company', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags/new`)
    await page.getByLabel('Key').fill('by-company')
    await page.getByLabel('The flag is for').selectOption({ label: 'Groups: company' })
    await page.getByText(/of \d+ groups/).waitFor()
    await page.getByRole('button', { name: 'Create flag' }).click()
    await page.getByLabel('Key of the company').fill('acme')
    await page.getByRole('button', { name: 'Try' }).click()
    await page.getByText('On', { exact: true }).nth(1).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test.each(devicesOf(0))('is as wide as the window, and has no barrier: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0], scheme: 'dark' })
    const { page } = visit
    await page.goto(`/p/${ui.project}/flags/new`)
    await page.getByText(/of \d+ persons/).waitFor()
    await page.getByText('Variants', { exact: true }).click()
    await expectFits(page)
    await expectOpen(page, schemesOf(1))
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('option', { name: /plan/ }).waitFor()
    await expectOpen(page, schemesOf(1))
    expect(visit.complaints).toEqual([])
  })
})
