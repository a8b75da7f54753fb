/** Exports: the answer of an insight or a query as a file, computed when it is downloaded. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { strFromU8, unzipSync } from 'fflate'
import { Pictures } from '../../../../src/pictures/pictures.ts'
import { createApiKey } from '../../../../src/projects/keys/api-key.ts'
import { EVERYBODY, setAccessLevel } from '../../../../src/projects/rights/access-controls.ts'
import { MEMBER, memberships } from '../../../../src/projects/tables.ts'
import { createUser } from '../../../../src/projects/users/user.ts'
import { HAS_BROWSER } from '../../../flows/clients/browser.ts'
import { joinWorld } from '../../shared-world.ts'
import { capture, manage } from '../../targeting/flag-world.ts'
import { openWorld } from '../../world.ts'

const world = await joinWorld()
const { project_id } = world.first

const EXPORTS = `/api/projects/${project_id}/exports/`
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const COUNTS = {
  kind: 'HogQLQuery',
  query: 'select event, count() as n from events group by event',
}

beforeAll(async () => {
  await capture(world, { event: 'paid', distinct_id: 'a' }, { event: 'paid', distinct_id: 'b' })
})

const make = (body: object) =>
  manage(world, 'POST', EXPORTS, { export_format: 'text/csv', ...body })

async function download(id: unknown) {
  const answer = await world.send(`${EXPORTS}${String(id)}/content/`, {
    headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
  })
  const bytes = await answer.bytes()
  return { status: answer.status, headers: answer.headers, text: strFromU8(bytes), bytes }
}

describe('an export', () => {
  test('of a query is downloaded with its file name, as of the download', async () => {
    const made = await make({ export_context: { source: COUNTS, filename: 'my counts/../x' } })
    expect(made).toMatchObject({
      status: 201,
      body: { filename: 'my-counts-..-x.csv', has_content: true, insight: null },
    })
    const { id } = made.body
    const first = await download(id)
    expect([first.status, first.text.trim().split(/\r?\n/)]).toEqual([200, ['event,n', 'paid,2']])
    expect(first.headers.get('content-disposition')).toBe(
      'attachment; filename="my-counts-..-x.csv"',
    )
    await capture(world, { event: 'paid', distinct_id: 'c' })
    expect((await download(id)).text).toContain('paid,3')
    expect((await manage(world, 'GET', `${EXPORTS}${String(id)}/`)).body['id']).toBe(id)
    expect((await manage(world, 'GET', EXPORTS)).body).toMatchObject({ results: [{ id }] })
  })

  test('is a workbook if that is asked for', async () => {
    const wanted = { export_format: XLSX, export_context: { source: COUNTS, filename: 'counts' } }
    const made = await make(wanted)
    expect(made).toMatchObject({ status: 201, body: { filename: 'counts.xlsx' } })
    const { bytes, headers } = await download(made.body['id'])
    expect(headers.get('content-type')).toBe(XLSX)
    const sheet = unzipSync(bytes)['xl/worksheets/sheet1.xml'] ?? new Uint8Array()
    expect(strFromU8(sheet)).toContain('<t xml:space="preserve">paid</t></is></c><c><v>3</v></c>')
  })

  test('of a saved insight goes with it', async () => {
    const insight = await manage(world, 'POST', `/api/projects/${project_id}/insights/`, {
      query: COUNTS,
    })
    const { body } = await make({ insight: insight.body['id'] })
    expect((await download(body['id'])).text).toContain('paid,')
    await manage(
      world,
      'PATCH',
      `/api/projects/${project_id}/insights/${String(insight.body['id'])}/`,
      {
        deleted: true,
      },
    )
    expect((await download(body['id'])).status).toBe(400)
  })

  test.each([
    [{ export_format: '__proto__', insight: 1 }, 'invalid_choice', 'export_format'],
    [{ dashboard: 1 }, 'invalid_input', 'dashboard'],
    [{ insight: 99_999 }, 'does_not_exist', 'insight'],
    [{}, 'required', 'insight'],
    [{ export_context: { query: { kind: 'HogQLQuery', query: 'select' } } }, undefined, undefined],
  ])('%j is refused', async (body, code, attr) => {
    const refused = await make(body)
    expect(refused.status).toBe(400)
    if (code !== undefined) expect(refused.body).toMatchObject({ code, attr })
  })

  test.each([
    [{ dashboard: 99_999 }, 'does_not_exist', 'dashboard'],
    [{ insight: 99_999 }, 'does_not_exist', 'insight'],
    [{}, 'required', 'insight'],
  ])('as a picture: %j is refused', async (body, code, attr) => {
    const refused = await make({ export_format: 'image/png', ...body })
    expect(refused).toMatchObject(
      HAS_BROWSER
        ? { status: 400, body: { code, attr } }
        : { status: 400, body: { attr: 'export_format' } },
    )
  })

  test('as a picture is refused in words on a machine without Chromium', async () => {
    await using bare = await openWorld({ pictures: new Pictures(null, world.needs.log) })
    const body = { export_format: 'image/png', export_context: { source: COUNTS } }
    const refused = await manage(bare, 'POST', '/api/projects/1/exports/', body)
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'invalid_choice', attr: 'export_format' },
    })
    expect(refused.body['detail']).toContain('TIDEMARK_CHROMIUM')
  })

  test.skipIf(!HAS_BROWSER)(
    'as a picture shows a query, a saved insight or a dashboard',
    async () => {
      const query = {
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event: 'paid' }],
        dateRange: { date_from: '-7d' },
      }
      const dashboard = await manage(world, 'POST', `/api/projects/${project_id}/dashboards/`, {
        name: 'Sales',
      })
      const insight = await manage(world, 'POST', `/api/projects/${project_id}/insights/`, {
        name: 'Paid <b>',
        query: { kind: 'InsightVizNode', source: query },
        dashboards: [dashboard.body['id']],
      })
      const sizes: unknown[] = []
      for (const wanted of [
        { insight: insight.body['id'] },
        { dashboard: dashboard.body['id'] },
        { export_context: { source: COUNTS, filename: 'counts' } },
      ]) {
        const made = await make({ export_format: 'image/png', ...wanted })
        expect([made.status, made.body['export_format']]).toEqual([201, 'image/png'])
        const { status, headers, bytes } = await download(made.body['id'])
        expect([status, headers.get('content-type')]).toEqual([200, 'image/png'])
        sizes.push(sizeOf(bytes))
      }
      // Two pixels each of 960 and 1440; a dashboard's tile stands under its head.
      expect(sizes.map((size) => Object(size).width)).toEqual([1920, 2880, 1920])
    },
    60_000,
  )

  test('as a picture of a dashboard takes the right to read dashboards', async () => {
    const dashboard = await manage(world, 'POST', `/api/projects/${project_id}/dashboards/`, {
      name: 'Hidden',
    })
    const wanted = { export_format: 'image/png', dashboard: dashboard.body['id'] }
    const { control: db } = world.needs
    const { organization_id } = world.first
    const now = new Date()
    const { id: user_id } = createUser(db, { email: 'm@example.com', first_name: 'M' }, now)
    const member = { organization_id, user_id, level: MEMBER, joined_at: now } as const
    db.insert(memberships).values(member).run()
    const key = { user_id, label: 'm', scopes: ['*'], organization_id: null, project_id: null }
    const { value } = createApiKey(db, key, now)
    const ask = async () =>
      (
        await world.send(EXPORTS, {
          method: 'POST',
          headers: { Authorization: `Bearer ${value}` },
          body: JSON.stringify(wanted),
        })
      ).status
    expect(await ask()).toBe(HAS_BROWSER ? 201 : 400)
    const everybody = { project_id, resource: 'dashboard', user_id: EVERYBODY }
    setAccessLevel(db, everybody, 'none', now)
    expect(await ask()).toBe(HAS_BROWSER ? 403 : 400)
    setAccessLevel(db, everybody, null, now)
  })

  test('of another project is not found', async () => {
    const other = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const path = `/api/projects/${String(other.body['id'])}/exports/1/`
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect((await download(99_999)).status).toBe(404)
  })
})

/** The size of a PNG, as its head says. */
function sizeOf(png: Uint8Array) {
  const view = new DataView(png.buffer, png.byteOffset)
  expect(Buffer.from(png.subarray(1, 4)).toString()).toBe('PNG')
  return { width: view.getUint32(16), height: view.getUint32(20) }
}
