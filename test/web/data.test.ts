/** Data: events and properties are described, typed and hidden; actions are made, counted, changed and deleted. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ActionStep } from '../../src/web/api/types/shown-action.ts'
import {
  bodyOf,
  copyOf,
  draftOf,
  filtersOf,
  NEW_STEP,
  readDraft,
  stepsText,
} from '../../src/web/pages/data/action-draft.ts'
import * as definitions from '../../src/web/pages/data/definition-draft.ts'
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
  settle,
} from './interface.ts'

limitTests(120_000)

const PRO = { key: 'plan', type: 'person', operator: 'exact', value: ['pro'] }
const CLICK: ActionStep = {
  ...NEW_STEP,
  event: '$autocapture',
  text: 'Sign up',
  selector: 'form > .btn',
}
const VISIT: ActionStep = { ...NEW_STEP, url: '/pricing', properties: [PRO] }

describe('the draft of an action', () => {
  test('stores what was changed, and of a new one everything', () => {
    const draft = { name: 'Visits', description: '', tags: [], steps: [VISIT], others: {} }
    const { others: _none, ...members } = draft
    expect(bodyOf(draft, draft)).toEqual({})
    expect(bodyOf({ ...draft, name: ' Visits ' }, draft)).toEqual({})
    expect(bodyOf({ ...draft, steps: [] }, draft)).toEqual({ steps: [] })
    expect(bodyOf(draft, null)).toEqual(members)
    const blank = { ...draft, name: ' ' }
    expect(bodyOf({ ...blank, description: 'd' }, blank)).toEqual({ description: 'd' })
  })
  test('of a copy has what only the API edits', () => {
    const only_api = {
      post_to_slack: true,
      slack_message_format: '[event.name]',
      pinned_at: '2026-01-01T00:00:00.000000Z',
    }
    const members = { name: 'Visits', description: 'd', tags: ['a'], steps: [VISIT] }
    const stored = {
      ...only_api,
      ...members,
      id: 7,
      deleted: false,
      updated_at: '2026-01-01T00:00:00.000000Z',
    }
    const copy = copyOf(stored, draftOf(stored))
    expect(bodyOf(readDraft(JSON.parse(JSON.stringify(copy))) ?? copy, null)).toEqual({
      ...only_api,
      ...members,
      name: 'Visits (copy)',
    })
  })
  test('comes back from an address, and from nothing else', () => {
    const draft = {
      name: 'Visits',
      description: 'd',
      tags: ['a'],
      steps: [VISIT, CLICK],
      others: {},
    }
    expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft)
    for (const odd of [null, 1, [], {}, { name: 1 }, { name: 'x', steps: {} }]) {
      expect(readDraft(odd)).toBeNull()
    }
    expect(
      readDraft({ name: 'x', tags: [1, 'a'], steps: [null, { url_matching: 7, event: 3 }] }),
    ).toEqual({
      name: 'x',
      description: '',
      tags: ['a'],
      steps: [
        { ...NEW_STEP, event: null },
        { ...NEW_STEP, event: null },
      ],
      others: {},
    })
  })
  test('is put into words', () => {
    expect(stepsText([VISIT, CLICK])).toBe(
      'Page view, URL contains /pricing, plan is pro, or Click or change (autocapture), Text of the element is Sign up, form > .btn',
    )
    expect(stepsText([])).toBe('')
    expect(stepsText([{ ...NEW_STEP, event: '', properties: [{ key: 'a' }] }])).toBe(
      'All events, {"key":"a"}',
    )
  })
})

describe('the draft of a definition', () => {
  const stored = {
    description: '',
    tags: [],
    is_verified: false,
    is_hidden: false,
    property_type: 'String',
  }
  test('stores what was changed', () => {
    expect(definitions.bodyOf(stored, stored)).toEqual({})
    const changed = {
      description: 'd',
      tags: ['a,b'],
      is_verified: true,
      is_hidden: true,
      property_type: '',
    }
    expect(definitions.bodyOf(changed, stored)).toEqual({
      description: 'd',
      tags: ['a,b'],
      verified: true,
      hidden: true,
      property_type: null,
    })
    const tags = { tags: ['a', 'b'] }
    expect(definitions.bodyOf({ ...stored, ...tags }, { ...stored, tags: ['a\nb'] })).toEqual(tags)
  })
  test('comes back from an address, and from nothing else', () => {
    expect(definitions.readDraft(JSON.parse(JSON.stringify(stored)))).toEqual(stored)
    for (const odd of [null, 1, [], {}, { description: 1, tags: [] }, { description: '' }]) {
      expect(definitions.readDraft(odd)).toBeNull()
    }
  })
})

const CHAIN =
  'button.btn:attr__class="btn"nth-child="2"nth-of-type="1"text="It\'s \\\\ 100%";a:href="/Pay?x=1"nth-child="1"nth-of-type="1";form.signup:attr__class="signup"nth-child="1"nth-of-type="1"'

describe.skipIf(!HAS_BROWSER)('Data', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 30 })
    const batch = ["It's \\ odd\n{x}", '$autocapture', '$autocapture'].map((event, at) => ({
      event,
      distinct_id: `clicker-${at}`,
      properties: {
        amount: at === 0 ? 7 : 'seven',
        $elements_chain: event === '$autocapture' ? CHAIN : '',
        $current_url: `https://Example.com/it's?a=\\${at}`,
      },
    }))
    const answer = await fetch(`${ui.server.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: ui.token, batch }),
    })
    expect(answer.status).toBe(200)
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const api = <Answer>(path: string, body?: object, method = 'POST'): Promise<Answer> =>
    ui.api(
      `/api/projects/${ui.project}/${path}`,
      body && {
        method,
        body: JSON.stringify(body),
      },
    ) as Promise<Answer>
  type Listed = { readonly results: readonly Readonly<Record<string, unknown>>[] }
  const findIn = async (family: string, search: string) =>
    (await api<Listed>(`${family}/?search=${encodeURIComponent(search)}`)).results[0]

  test('counts the events of an action that is not stored as those of the stored one', async () => {
    const any = { ...NEW_STEP, event: null }
    const counted: Record<string, readonly number[]> = {}
    for (const [name, steps] of Object.entries({
      nothing: [],
      everything: [any],
      'an odd event': [{ ...any, event: "It's \\ odd\n{x}" }],
      'any of two': [NEW_STEP, { ...any, event: '$autocapture' }],
      'the same twice': [NEW_STEP, NEW_STEP],
      'a text': [{ ...any, text: "It's \\\\ 100%" }],
      'part of a text': [{ ...any, text: "IT'S", text_matching: 'contains' }],
      'a pattern of a text': [{ ...any, text: '^It.s', text_matching: 'regex' }],
      'a link': [{ ...any, href: '/Pay?x=1' }],
      'part of a link': [{ ...any, href: '/Pay', href_matching: 'contains' }],
      'part of a link in another case': [{ ...any, href: '/pay', href_matching: 'contains' }],
      'a pattern of a link': [{ ...any, href: '^/p', href_matching: 'regex' }],
      'a selector and a tag': [{ ...any, selector: 'form.signup button.btn', tag_name: 'a' }],
      'part of a URL': [{ ...any, url: "Example.com/it's?a=\\" }],
      'a whole URL': [{ ...any, url: "https://Example.com/it's?a=\\1", url_matching: 'exact' }],
      'a pattern of a URL': [{ ...any, url: '\\\\[12]$', url_matching: 'regex' }],
      properties: [
        { ...any, properties: [{ key: 'amount', value: '7', operator: 'exact', type: 'event' }] },
      ],
    } satisfies Readonly<Record<string, readonly ActionStep[]>>)) {
      const { id } = await api<{ readonly id: number }>('actions/', { name, steps })
      const { count } = await api<{ readonly count: number }>(`actions/${id}/count/`)
      const filters = filtersOf(steps)
      const query = { kind: 'EventsQuery', select: ['count()'], after: '-90d', properties: filters }
      const { results } =
        filters === null
          ? { results: [[0]] }
          : await api<{ readonly results: number[][] }>('query/', { query })
      counted[name] = [count, results[0]?.[0] ?? -1]
    }
    expect(Object.entries(counted).filter(([, [one, other]]) => one !== other)).toEqual([])
    expect(counted['everything']?.[0]).toBeGreaterThan(50)
    for (const name of ['an odd event', 'a text', 'a link', 'part of a URL', 'properties']) {
      expect([name, counted[name]?.[0]]).not.toEqual([name, 0])
    }
    expect(counted['part of a link in another case']).toEqual([0, 0])
  })

  test('describes, tags and hides an event', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/start`)
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor()
    // The two keys are one sequence for a second.
    await settle(page)
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.getByRole('heading', { level: 1, name: 'Data' }).waitFor()
    await settle(page)
    await page.keyboard.press('/')
    await page.keyboard.type('pageview')
    await expectSoon(() => page.locator('main ul li').count(), 1)
    await page.getByText(/^[1-9]\d* in 30 days$/).waitFor()
    await page.getByRole('link', { name: 'Page view' }).press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Page view' }).waitFor()
    await page.getByLabel('Description').fill('Somebody sees a page')
    await page.getByLabel('Tags').fill('core, really')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove the tag core, really' }).waitFor()
    await page.getByLabel(/^Verified/).check()
    await page.reload()
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'detached' })
    expect(await findIn('event_definitions', '$pageview')).toMatchObject({
      description: 'Somebody sees a page',
      tags: ['core, really'],
      verified: true,
      hidden: false,
    })
    await page.getByText(/^Verified$/).waitFor()
    await page.getByLabel(/^Hidden/).check()
    await page.goBack()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Path', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Path' }).waitFor()
    await page.getByText('/pricing').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('does not replace the changes of others without a word', async () => {
    const { id } = (await findIn('event_definitions', '$pageleave')) ?? {}
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/events/${String(id)}`)
    await page.getByLabel('Description').fill('mine')
    await api(`event_definitions/${String(id)}/`, { description: 'theirs' }, 'PATCH')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('It was changed in the meantime').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expectSoon(
      async () => (await findIn('event_definitions', '$pageleave'))?.['description'],
      'mine',
    )
  })

  test('removes an event from the lists', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/events?search=odd`)
    await page.getByRole('link', { name: "It's" }).click()
    await page.getByRole('button', { name: 'Actions of the event' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('removed').waitFor()
    await page.getByRole('link', { name: 'Page view' }).waitFor()
    expect(await page.getByRole('link', { name: "It's" }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('says which values a type cannot hold, and reads them as another', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/properties?search=amount`)
    await page.getByRole('link', { name: 'amount' }).click()
    await page.getByText('2 of 3 values cannot be read as Number').waitFor()
    await page.getByRole('button', { name: 'Read as Text' }).click()
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.keyboard.press('s')
    await page.getByText('cannot be read').waitFor({ state: 'detached' })
    expect(await findIn('property_definitions', 'amount')).toMatchObject({
      property_type: 'String',
    })
    expect(visit.complaints).toEqual([])
  })

  test('lists properties by their owner, those of sessions too', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/properties`)
    await page.locator('main').getByText('Persons', { exact: true }).click()
    await page.getByRole('link', { name: 'plan' }).click()
    await page.getByRole('heading', { level: 1, name: 'plan' }).waitFor()
    await page.goBack()
    await page.getByText(/^Groups: /).click()
    await page.locator('main ul li a').first().click()
    await page.getByRole('heading', { level: 2, name: 'Values' }).waitFor()
    await page.goBack()
    await page.locator('main').getByText('Sessions', { exact: true }).click()
    await page.getByText('$session_duration').waitFor()
    await page.getByRole('searchbox').fill('bounce')
    await expectSoon(() => page.locator('main ul li').count(), 1)
    expect(visit.complaints).toEqual([])
  })

  test('makes an action, counts it, uses it, changes it and deletes it', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/actions`)
    await page.getByRole('link', { name: 'New action' }).click()
    await page.getByLabel('Name').fill('Visits')
    await page.getByRole('textbox', { name: 'URL' }).fill('no such page')
    await page.getByText('0 events in the last 30 days').waitFor()
    await page.getByRole('textbox', { name: 'URL' }).fill('(')
    await page.getByLabel('Comparison: URL').selectOption('matches')
    await page.getByRole('button', { name: 'Create action' }).click()
    await page.getByText('Not a valid regular expression').first().waitFor()
    await page.getByRole('textbox', { name: 'URL' }).fill('pricing$')
    await page.getByText(/^[1-9]\d* events in the last 30 days$/).waitFor()
    await page.getByRole('button', { name: 'Create action' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Visits' }).waitFor()
    expect((await api<Listed>('actions/?search=Visits')).results).toMatchObject([
      { steps: [{ event: '$pageview', url: 'pricing$', url_matching: 'regex' }] },
    ])
    await page.getByRole('link', { name: 'Explore' }).last().click()
    await page.getByRole('slider').waitFor()
    await page
      .getByRole('button', { name: /Visits/ })
      .first()
      .waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Add a step' }).click()
    await page.getByText('Clicked element').last().click()
    await page.getByLabel('CSS selector').last().fill('form.signup > (')
    await page.getByText('Not a selector').waitFor()
    await page.getByLabel('CSS selector').last().fill('')
    await page.getByText(/^\d+ events in the last 30 days$/).waitFor()
    await page.getByLabel('CSS selector').last().fill('form.signup button')
    await page.getByText(/^\d+ events in the last 30 days$/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'detached' })
    expect((await api<Listed>('actions/?search=Visits')).results).toMatchObject([
      { steps: [{ url: 'pricing$' }, { selector: 'form.signup button' }] },
    ])
    await page.getByRole('button', { name: 'Actions of the action' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('Action deleted').waitFor()
    await expectSoon(() => page.getByRole('link', { name: 'Visits' }).count(), 0)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'Visits' }).waitFor()
    expect(visit.complaints.filter((text) => !text.includes('status of 400'))).toEqual([])
  })

  test('shows a changed action in a chart that was just seen', async () => {
    const steps = [{ event: '$pageview', url: 'pricing' }]
    const { id } = await api<{ readonly id: number }>('actions/', { name: ' Seen ', steps })
    await using visit = await ui.visit()
    const { page } = visit
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/query/') && request.postData()?.includes('ActionsNode'))
        asked += 1
    })
    await page.goto(`/p/${ui.project}/data/actions/${id}`)
    await page.getByRole('heading', { level: 1, name: '" Seen "' }).waitFor()
    await page.getByRole('link', { name: 'Explore' }).last().click()
    await page.getByRole('slider').waitFor()
    await page.goBack()
    await page.getByRole('textbox', { name: 'URL' }).fill('no such page')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Explore' }).last().click()
    await page.getByRole('slider').waitFor()
    await expectSoon(() => Promise.resolve(asked), 2)
    expect(await api(`actions/${id}/`)).toMatchObject({ name: ' Seen ' })
    expect(visit.complaints).toEqual([])
  })

  test('leaves what it cannot edit of an action as it is', async () => {
    const odd = [
      { key: 'a', value: 'b' },
      { type: 'element', key: 'text', value: 'x', operator: 'exact' },
    ]
    const steps = [{ event: '', properties: odd, url: '/a', name: 'x' }, {}]
    const { id } = await api<{ readonly id: number }>('actions/', {
      name: 'Odd',
      steps,
      tags: ['a,b', 'a,b', ''],
    })
    const before = await api<{ readonly steps: unknown; readonly tags: unknown }>(`actions/${id}/`)
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/actions/${id}`)
    await page.getByLabel('Description').fill('described')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Changed', { exact: true }).waitFor({ state: 'detached' })
    const { steps: after, tags } = await api<typeof before>(`actions/${id}/`)
    expect({ steps: after, tags }).toEqual({ steps: before.steps, tags: before.tags })
    await api(`actions/${id}/`, { deleted: true }, 'PATCH')
    await page.reload()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByLabel('Description').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test.each(devicesOf(1))('is as wide as the window, and has no barrier: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    const { page } = visit
    await page.goto(`/p/${ui.project}/data/actions/new`)
    await page.getByText('Clicked element').click()
    await page.getByLabel('CSS selector').waitFor()
    await expectFits(page)
    await expectOpen(page, schemesOf(2))
    await page.goto(`/p/${ui.project}/data/properties`)
    await page.getByText(/^Groups: /).waitFor()
    await expectFits(page)
    expect(visit.complaints).toEqual([])
  })
})
