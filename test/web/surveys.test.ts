/** Surveys: made, launched, changed, stopped and deleted in the browser; the results that it shows are the server's. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import type { ShownSurvey } from '../../src/web/api/types/shown-survey.ts'
import { answersQuery, readAnswers, scoreOf } from '../../src/web/pages/surveys/answers.ts'
import {
  addChoice,
  bodyOf,
  copyOf,
  draftOf,
  moveQuestion,
  readDraft,
  removeChoice,
  removeQuestion,
} from '../../src/web/pages/surveys/survey-draft.ts'
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

const STORED: ShownSurvey = {
  id: '01a2241a-ec35-7598-8eb4-32e9be07690f',
  name: 'Feedback',
  description: '',
  type: 'popover',
  schedule: null,
  linked_flag: null,
  linked_flag_id: null,
  targeting_flag: null,
  questions: [{ id: 'a', type: 'open', question: 'Why?', validation: [{ type: 'min_length' }] }],
  conditions: { url: '/app', deviceTypes: ['Desktop'], events: { values: [{ name: 'paid' }] } },
  appearance: { maxWidth: '400px' },
  translations: { de: { name: 'Rückmeldung' } },
  form_content: null,
  enable_partial_responses: true,
  enable_iframe_embedding: null,
  start_date: null,
  end_date: null,
  archived: false,
  responses_limit: 10,
  iteration_count: null,
  iteration_frequency_days: null,
  current_iteration: null,
  created_at: '2026-11-01T00:00:00Z',
  updated_at: '2026-11-01T00:00:00Z',
}

describe('the draft of a survey', () => {
  test('sends what was changed, and nothing else', () => {
    const draft = draftOf(STORED)
    expect(bodyOf(draft, draft)).toEqual({})
    expect(bodyOf({ ...draft, name: 'Other' }, draft)).toEqual({ name: 'Other' })
    const targeting = { groups: [{ properties: [], rollout_percentage: 20 }] }
    expect(bodyOf({ ...draft, targeting }, draft)).toEqual({ targeting_flag_filters: targeting })
    expect(bodyOf(draft, { ...draft, targeting })).toEqual({ remove_targeting_flag: true })
  })
  test('of a survey with odd members sends none of them', () => {
    for (const odd of [null, 7, 'text', [null, 1], { __proto__: null, a: 1 }]) {
      const draft = draftOf({ ...STORED, questions: odd, conditions: odd, appearance: odd })
      const changed = { ...draft, description: 'New' }
      expect(bodyOf(changed, draft)).toEqual({ description: 'New' })
    }
  })
  test('comes back from an address, and from nothing else', () => {
    const draft = draftOf(STORED)
    expect(readDraft(JSON.parse(JSON.stringify(draft)))).toEqual(draft)
    for (const odd of [null, 1, [], {}, { name: 1, questions: [] }, { name: 'a' }]) {
      expect(readDraft(odd)).toBeNull()
    }
    expect(readDraft({ name: 'a', questions: [null, 1], conditions: 'x' })).toMatchObject({
      questions: [{}, {}],
      conditions: {},
    })
  })
  test('of a copy has no ids of questions, and all that the page does not edit', () => {
    expect(bodyOf(copyOf(draftOf(STORED), STORED), null)).toMatchObject({
      name: 'Feedback (copy)',
      questions: [{ type: 'open', question: 'Why?', validation: [{ type: 'min_length' }] }],
      conditions: { deviceTypes: ['Desktop'] },
      translations: { de: { name: 'Rückmeldung' } },
      enable_partial_responses: true,
      responses_limit: 10,
    })
  })
  test('keeps what its branches lead to when questions are moved or removed', () => {
    const to = (index: number) => ({ type: 'specific_question', index })
    const questions = [
      { id: 'a', branching: to(2) },
      { id: 'b', branching: { type: 'response_based', responseValues: { 0: 2, 1: 'end', 2: 0 } } },
      { id: 'c', branching: { type: 'end' } },
    ]
    expect(moveQuestion(questions, 2, 0)).toEqual([
      { id: 'c', branching: { type: 'end' } },
      { id: 'a', branching: to(0) },
      { id: 'b', branching: { type: 'response_based', responseValues: { 0: 0, 1: 'end', 2: 1 } } },
    ])
    expect(removeQuestion(questions, 2)).toEqual([
      { id: 'a', branching: { type: 'next_question' } },
      {
        id: 'b',
        branching: {
          type: 'response_based',
          responseValues: { 0: 'next_question', 1: 'end', 2: 0 },
        },
      },
    ])
  })
})

describe('the choices of a question', () => {
  const question = {
    choices: ['A', 'B', 'C', 'Other'],
    hasOpenChoice: true,
    branching: { type: 'response_based', responseValues: { 0: 5, 1: 6, 3: 'end', other: 7 } },
  }
  test('keep what their branches lead to when one is removed', () => {
    expect(removeChoice(question, 1)).toEqual({
      choices: ['A', 'C', 'Other'],
      hasOpenChoice: true,
      branching: { type: 'response_based', responseValues: { 0: 5, 2: 'end', other: 7 } },
    })
  })
  test('have an open one at the end, also when one is added', () => {
    expect(addChoice(question)).toMatchObject({
      choices: ['A', 'B', 'C', '', 'Other'],
      branching: { responseValues: { 0: 5, 1: 6, 4: 'end', other: 7 } },
    })
    expect(addChoice({ choices: ['A'] })).toEqual({ choices: ['A', ''] })
    expect(addChoice({ choices: null, hasOpenChoice: true })).toMatchObject({ choices: [''] })
  })
})

describe('the answers to a question', () => {
  const nps = { id: 'a', type: 'rating', scale: 10 }
  test('are counted by a query that no id breaks', () => {
    const question = { id: String.raw`it's \ one`, type: 'single_choice' }
    const input = { survey_id: STORED.id, question, at: 1, archived: ['x'] }
    expect(answersQuery(input).query).toContain(
      String.raw`getSurveyResponse(1, 'it\'s \\ one') as answer`,
    )
  })
  test('of a scale are in its order, those of choices by frequency, all with those of no response', () => {
    const rows = [
      ['10', 3],
      ['0', 1],
    ]
    expect(readAnswers(nps, rows).map(({ count }) => count)).toEqual([
      1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3,
    ])
    const choices = { type: 'multiple_choice', choices: ['A', 'B', 'Other'], hasOpenChoice: true }
    const beyond = [
      ['high', 4],
      ['15', 3],
    ]
    expect(readAnswers(nps, beyond).slice(10)).toEqual([
      { answer: '10', count: 0 },
      { answer: 'high', count: 4 },
      { answer: '15', count: 3 },
    ])
    expect(readAnswers({ type: 'single_choice', choices: ['A', 'A'] }, [])).toEqual([
      { answer: 'A', count: 0 },
    ])
    expect(
      readAnswers(choices, [
        ['"C"', 2],
        ['"A"', 1],
      ]),
    ).toEqual([
      { answer: 'C', count: 2 },
      { answer: 'A', count: 1 },
      { answer: 'B', count: 0 },
    ])
  })
  test('of ratings have a score, promoters less detractors, or the mean, without those beyond the scale', () => {
    const answers = [
      { answer: '10', count: 5 },
      { answer: '8', count: 3 },
      { answer: '6', count: 2 },
      { answer: '15', count: 90 },
      { answer: 'high', count: 9 },
    ]
    expect(scoreOf(nps, answers)).toEqual({ name: 'Net promoter score', value: 30, count: 10 })
    const of_five = ['4', '1', '0', '6'].map((answer) => ({ answer, count: 1 }))
    expect(scoreOf({ scale: 5 }, of_five)).toEqual({ name: 'Mean', value: 2.5, count: 2 })
    expect(scoreOf(nps, [{ answer: '10', count: 0 }])).toBeNull()
  })
})

describe.skipIf(!HAS_BROWSER)('a survey', () => {
  let ui: Interface
  beforeAll(async () => {
    ui = await openInterface({ demo_persons: 30 })
  })
  afterAll(() => ui?.[Symbol.asyncDispose]())

  const send = async (method: string, path: string, body: object): Promise<ShownSurvey> =>
    (await ui.api(`/api/projects/${ui.project}/surveys/${path}`, {
      method,
      body: JSON.stringify(body),
    })) as ShownSurvey
  const find = async (name: string): Promise<ShownSurvey | undefined> => {
    const path = `/api/projects/${ui.project}/surveys/?search=${encodeURIComponent(name)}`
    return ((await ui.api(path)) as { readonly results: readonly ShownSurvey[] }).results[0]
  }

  test('is made from a template, launched, changed, stopped, archived and deleted', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/surveys`)
    await page.getByRole('link', { name: 'New survey' }).click()
    await page.getByRole('button', { name: 'Net promoter score' }).click()
    await page.getByLabel('Name').fill('Would they?')
    await page.getByRole('button', { name: 'Create survey' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Would they?' }).waitFor()
    expect(
      await ui.api(`/api/projects/${ui.project}/surveys/?search=${encodeURIComponent('Would')}`),
    ).toMatchObject({ results: { length: 1 } })
    // The second click comes when the button stops the survey.
    await page.getByRole('button', { name: 'Launch' }).dblclick({ delay: 500 })
    await page.getByText('Would they? is running').waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    expect((await find('Would they?'))?.end_date).toBeNull()
    await page.getByText('Not shown yet').waitFor()
    await page.getByText('Survey', { exact: true }).click()
    await page.getByLabel('Address').fill('/checkout')
    await page.getByText('Changed', { exact: true }).waitFor()
    await page.reload()
    await expectSoon(() => page.getByLabel('Address').inputValue(), '/checkout')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await find('Would they?'))?.conditions).toEqual({ url: '/checkout' })
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Would they? stopped').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Running', { exact: true }).waitFor()
    expect((await find('Would they?'))?.end_date).toBeNull()
    await page.getByRole('button', { name: 'Actions of the survey' }).click()
    await page.getByRole('menuitem', { name: 'Archive' }).click()
    await page.getByText('Would they? archived').waitFor()
    await page.goto(`/p/${ui.project}/surveys?show=archived`)
    await page.getByRole('link', { name: 'Would they?' }).click()
    await page.getByRole('button', { name: 'Actions of the survey' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Would they? deleted').waitFor()
    expect(await find('Would they?')).toBeUndefined()
    expect(visit.complaints).toEqual([])
  })

  test('has its questions added, moved and removed by keyboard', async () => {
    await using visit = await ui.visit()
    const { page } = visit
    const questions = ['One?', 'Two?', 'Three?'].map((question) => ({ type: 'open', question }))
    const { id } = await send('POST', '', { name: 'Order', type: 'popover', questions })
    await page.goto(`/p/${ui.project}/surveys/${id}`)
    await page.getByRole('button', { name: 'Move question 3 up' }).focus()
    await page.keyboard.press('Enter')
    await expectSoon(() => focusedName(page), 'Move question 2 up')
    await page.keyboard.press('Enter')
    // At the top only the way back is left.
    await expectSoon(() => focusedName(page), 'Move question 1 down')
    await page.getByRole('button', { name: 'Remove question 2' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add a question' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Question 3: This field may not be blank.').waitFor()
    await page.getByLabel('Question', { exact: true }).nth(2).fill('Which?')
    await page.getByLabel('Answered by').nth(2).selectOption({ label: 'One choice' })
    await page.getByLabel('Choice 2', { exact: true }).fill('Neither')
    await page.getByRole('button', { name: 'Remove choice 1' }).focus()
    await page.keyboard.press('Enter')
    // Back undoes one choice after the other.
    await page.goBack()
    await page.getByLabel('Choice 2', { exact: true }).waitFor()
    await page.goForward()
    await page.getByLabel('Choice 2', { exact: true }).waitFor({ state: 'detached' })
    await page.getByLabel('Name').focus()
    await page.keyboard.press('Tab')
    await page.getByRole('button', { name: 'Save', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await find('Order'))?.questions).toMatchObject([
      { question: 'Three?' },
      { question: 'Two?' },
      { question: 'Which?', type: 'single_choice', choices: ['Neither'] },
    ])
    // The one complaint is about the refused question.
    expect(visit.complaints.filter((text) => !text.includes('400'))).toEqual([])
  })

  test('keeps what the page does not edit, and says when others have changed it', async () => {
    const odd = {
      questions: null,
      conditions: { actions: { values: [{ id: 1, name: 'x' }] }, url: null },
      appearance: { future: 7, submitButtonColor: 'rebeccapurple' },
      translations: { de: { name: 'Seltsam' } },
    }
    const { id } = await send('POST', '', { name: 'Odd', type: 'external_survey', ...odd })
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/surveys/${id}`)
    await page.getByLabel('Description').fill('Mine')
    await send('PATCH', `${id}/`, { description: 'Theirs' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('changed in the meantime').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await find('Odd')).toMatchObject({
      ...odd,
      description: 'Mine',
      type: 'external_survey',
    })
    await page.goto(`/p/${ui.project}/surveys/%25`)
    await page.getByText('Survey not found').waitFor()
  })

  test('shows the results that the server counts, and the persons behind them', async () => {
    const { id, questions } = await send('POST', '', {
      name: 'Results',
      type: 'popover',
      start_date: '2026-01-01T00:00:00Z',
      questions: [
        { type: 'rating', question: 'How likely?', scale: 10, display: 'number' },
        { type: 'open', question: 'Why?' },
        { type: 'multiple_choice', question: 'Which?', choices: ['Boards', 'SQL', 'Flags'] },
      ],
    })
    const [likely, why, which] = (questions as readonly { readonly id: string }[]).map(
      (question) => `$survey_response_${question.id}`,
    )
    const at = new Date(Date.now() - 60_000).toISOString()
    const eventOf = (event: string, distinct_id: string, properties: object = {}) => ({
      event,
      distinct_id,
      timestamp: at,
      properties: { $survey_id: id, ...properties },
    })
    const batch = [
      ...['ann', 'bob', 'cid', 'dee'].map((person) => eventOf('survey shown', person)),
      // As older SDKs name answers.
      eventOf('survey sent', 'ann', {
        $survey_response: 10,
        $survey_response_1: 'It <b>works</b>',
        $survey_response_2: ['SQL'],
      }),
      // A part of an answer, and then all of it.
      eventOf('survey sent', 'bob', { $survey_submission_id: 's', [String(likely)]: 3 }),
      {
        ...eventOf('survey sent', 'bob', {
          $survey_submission_id: 's',
          [String(likely)]: 9,
          [String(why)]: 'Fast',
          [String(which)]: ['SQL', 'Boards', 'SQL'],
        }),
        timestamp: new Date().toISOString(),
      },
      eventOf('survey dismissed', 'cid'),
    ]
    const answer = await fetch(`${ui.server.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: ui.token, batch }),
    })
    expect(answer.status).toBe(200)
    await using visit = await ui.visit()
    const { page } = visit
    await page.goto(`/p/${ui.project}/surveys`)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Results' })
      .getByText('2 responses')
      .waitFor()
    await page.getByRole('link', { name: 'Results' }).click()
    const figures = page.locator('dl').first()
    await figures.getByText('50.0%').first().waitFor()
    expect((await figures.innerText()).split('\n').filter(Boolean)).toEqual([
      'Shown',
      '4',
      '4 persons',
      'Answered',
      '2',
      '50.0% of times shown',
      '2 persons, 50.0% of those asked',
      'Dismissed',
      '1',
      '25.0% of times shown',
      '1 person, 25.0% of those asked',
    ])
    const first = page.getByRole('region', { name: 'Question 1' })
    await first.getByText('Net promoter score of 2 responses').waitFor()
    await first.getByText('100', { exact: true }).waitFor()
    const third = page.getByRole('region', { name: 'Question 3' })
    await third.getByText('Boards').waitFor()
    expect((await third.getByRole('listitem').allInnerTexts()).map(wordsOf)).toEqual([
      'SQL 2 100%',
      'Boards 1 50%',
      'Flags 0 0%',
    ])
    await page.getByRole('region', { name: 'Question 2' }).getByText('It <b>works</b>').waitFor()
    await third.getByRole('button', { name: 'Boards' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'bob' }).waitFor()
    await page.keyboard.press('Escape')
    const responses = page.getByRole('region', { name: 'Responses' })
    await responses
      .getByRole('listitem')
      .filter({ has: page.getByRole('link', { name: 'ann' }) })
      .getByRole('button', { name: 'Archive' })
      .click()
    await first.getByText('Net promoter score of 1 response', { exact: true }).waitFor()
    await page.getByRole('switch', { name: 'With archived ones' }).check()
    await responses.getByRole('button', { name: 'Count again' }).click()
    await first.getByText('Net promoter score of 2 responses').waitFor()
    await responses.getByRole('link', { name: 'ann' }).click()
    await page.getByRole('heading', { level: 1, name: 'ann' }).waitFor()
    expect(visit.complaints).toEqual([])
  })

  test.each(devicesOf(1))('is as wide as the window, and has no barrier: %s', async (device) => {
    await using visit = await ui.visit({ width: SCREENS[device][0] })
    const { page } = visit
    await page.goto(`/p/${ui.project}/surveys/new`)
    await page.getByRole('button', { name: 'Net promoter score' }).waitFor()
    await expectFits(page)
    await expectOpen(page, schemesOf(1))
    await page.getByRole('button', { name: 'Net promoter score' }).click()
    await page.getByLabel('Name').waitFor()
    for (const more of await page.locator('summary').all()) await more.click()
    await expectFits(page)
    await expectOpen(page, schemesOf(2))
    const id = (await find('Results'))?.id ?? ''
    await page.goto(`/p/${ui.project}/surveys/${id}`)
    await page.getByText('Net promoter score of').waitFor()
    await expectFits(page)
    await expectOpen(page, schemesOf(0))
    expect(visit.complaints).toEqual([])
  })
})

const wordsOf = (text: string): string => text.split(/\s+/).join(' ').trim()

const focusedName = (page: Page): Promise<string | null> =>
  page.evaluate<string | null>('document.activeElement?.ariaLabel ?? null')
