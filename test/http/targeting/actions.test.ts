/** Actions through the management API: events under one name, kept for queries to name. */
import { describe, expect, test } from 'bun:test'
import { listActions } from '../../../src/targeting/action.ts'
import type { StoredActionStep } from '../../../src/targeting/tables.ts'
import { joinWorld } from '../shared-world.ts'
import { manage } from './flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const ACTIONS = `/api/projects/${project_id}/actions/`

const create = (body: unknown) => manage(world, 'POST', ACTIONS, body)

/** A step of which nothing is said. */
const ANY: StoredActionStep = {
  event: null,
  properties: [],
  selector: null,
  tag_name: null,
  text: null,
  text_matching: null,
  href: null,
  href_matching: null,
  url: null,
  url_matching: null,
  name: null,
}

describe('an action', () => {
  test('keeps its steps whole, under both roads, until it is deleted', async () => {
    const property = { key: 'plan', value: 'pro', operator: 'exact', type: 'event' }
    const made = await create({
      name: 'Signed up',
      description: 'Any way of it',
      tags: ['growth'],
      steps: [
        { event: 'signed_up', properties: [property], name: 'by API' },
        { event: '$autocapture', selector: 'form > button', text: 'Join', text_matching: 'regex' },
        { event: '$pageview', url: '/welcome', url_matching: 'contains', href: '', unknown: 1 },
      ],
    })
    expect(made.status).toBe(201)
    const id = Number(made.body['id'])
    const steps: readonly StoredActionStep[] = [
      { ...ANY, event: 'signed_up', properties: [property], name: 'by API' },
      {
        ...ANY,
        event: '$autocapture',
        selector: 'form > button',
        text: 'Join',
        text_matching: 'regex',
      },
      { ...ANY, event: '$pageview', url: '/welcome', url_matching: 'contains' },
    ]
    const shown = {
      id,
      team_id: project_id,
      name: 'Signed up',
      description: 'Any way of it',
      tags: ['growth'],
      steps,
      post_to_slack: false,
      slack_message_format: '',
      deleted: false,
      pinned_at: null,
      is_action: true,
      is_calculating: false,
      last_calculated_at: null,
      bytecode_error: null,
      creation_context: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      created_by: expect.objectContaining({ first_name: 'Owner' }),
    }
    expect(made.body).toEqual(shown)
    expect(listActions(world.needs.control, project_id)).toEqual([
      { id, name: 'Signed up', steps_json: JSON.stringify(steps) },
    ])
    const path = `/api/environments/${project_id}/actions/${id}/`
    const renamed = await manage(world, 'PATCH', path, {
      name: 'Joined',
      pinned_at: '2026-02-03T04:05:06Z',
    })
    const later = { ...shown, name: 'Joined', pinned_at: '2026-02-03T04:05:06.000Z' }
    expect(renamed.body).toEqual(later)
    expect((await manage(world, 'GET', path)).body).toEqual(later)
    expect((await manage(world, 'GET', `${ACTIONS}?search=JOIN`)).body['results']).toEqual([later])
    expect((await manage(world, 'GET', `${ACTIONS}?search=sign`)).body['results']).toEqual([])
    expect((await manage(world, 'DELETE', path)).status).toBe(405)
    await manage(world, 'PATCH', path, { deleted: true })
    expect((await manage(world, 'GET', ACTIONS)).body).toMatchObject({ count: 0 })
    expect(listActions(world.needs.control, project_id)).toEqual([])
    const activity = await manage(world, 'GET', `${path}activity/`)
    expect(activity.body).toMatchObject({
      total_count: 3,
      results: [
        { activity: 'deleted', scope: 'Action' },
        {
          activity: 'updated',
          detail: {
            name: 'Joined',
            changes: [
              { field: 'name', before: 'Signed up', after: 'Joined' },
              { field: 'pinned_at', action: 'created' },
            ],
          },
        },
        { activity: 'created' },
      ],
    })
  })

  test('has a name of its own; that of a deleted one is free', async () => {
    const first = await create({ name: 'Paid' })
    expect(first.status).toBe(201)
    const refusal = { status: 400, body: { code: 'unique', attr: 'name' } }
    expect(await create({ name: 'Paid' })).toMatchObject(refusal)
    const second = await create({ name: 'Paid again' })
    const path = `${ACTIONS}${String(second.body['id'])}/`
    expect(await manage(world, 'PATCH', path, { name: 'Paid' })).toMatchObject(refusal)
    expect((await manage(world, 'PATCH', path, { name: 'Paid again' })).status).toBe(200)
    const its = `${ACTIONS}${String(first.body['id'])}/`
    await manage(world, 'PATCH', its, { deleted: true })
    expect((await manage(world, 'PATCH', path, { name: 'Paid' })).status).toBe(200)
    expect(await manage(world, 'PATCH', its, { deleted: false })).toMatchObject(refusal)
  })

  test.each<[unknown, string, string]>([
    [{}, 'required', 'name'],
    [{ name: '' }, 'blank', 'name'],
    [{ name: 'x'.repeat(401) }, 'max_length', 'name'],
    [{ name: 'a', steps: 'all' }, 'invalid_input', 'steps'],
    [{ name: 'a', steps: [{ event: 1 }] }, 'invalid_input', 'steps__0__event'],
    [{ name: 'a', steps: [{ url_matching: 'like' }] }, 'invalid_choice', 'steps__0__url_matching'],
    [
      { name: 'a', steps: [{}, { href: '(', href_matching: 'regex' }] },
      'invalid_value',
      'steps__1__href',
    ],
    [{ name: 'a', steps: [{ properties: ['plan'] }] }, 'invalid_input', 'steps__0__properties__0'],
    [{ name: 'a', steps: Array.from({ length: 101 }, () => ({})) }, 'invalid_input', 'steps'],
    [{ name: 'a', pinned_at: 'soon' }, 'invalid_input', 'pinned_at'],
  ])('%j is refused as %s of %s', async (body, code, attr) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { code, attr } })
  })

  test('that is not there is not found', async () => {
    for (const id of ['99999', '0', 'x', '1.5']) {
      expect((await manage(world, 'GET', `${ACTIONS}${id}/`)).status).toBe(404)
    }
  })
})
