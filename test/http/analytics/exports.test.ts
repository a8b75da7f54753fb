/** Exports: the answer of an insight or a query as a file, computed when it is downloaded. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { strFromU8, unzipSync } from 'fflate'
import { capture, manage } from '../targeting/flag-world.ts'
import { openWorld, type World } from '../world.ts'

const EXPORTS = '/api/projects/1/exports/'
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const COUNTS = {
  kind: 'HogQLQuery',
  query: 'select event, count() as n from events group by event',
}

let world: World
beforeAll(async () => {
  world = await openWorld()
  await capture(world, { event: 'paid', distinct_id: 'a' }, { event: 'paid', distinct_id: 'b' })
})
afterAll(() => world.close())

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
    const insight = await manage(world, 'POST', '/api/projects/1/insights/', { query: COUNTS })
    const { body } = await make({ insight: insight.body['id'] })
    expect((await download(body['id'])).text).toContain('paid,')
    await manage(world, 'PATCH', `/api/projects/1/insights/${String(insight.body['id'])}/`, {
      deleted: true,
    })
    expect((await download(body['id'])).status).toBe(400)
  })

  test.each([
    [{ export_format: 'image/png', insight: 1 }, 'invalid_choice', 'export_format'],
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

  test('of another project is not found', async () => {
    const other = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    const path = `/api/projects/${String(other.body['id'])}/exports/1/`
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect((await download(99_999)).status).toBe(404)
  })
})
