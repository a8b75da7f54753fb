/** The description of the API in other hands: a validator's, and a client's that is generated from it. */
import { beforeAll, describe, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { AxiosAdapter } from 'axios'
import { type Document, OpenAPIClientAxios } from 'openapi-client-axios'
import { joinWorld } from './shared-world.ts'

const world = await joinWorld()

let document: Document
beforeAll(async () => {
  document = JSON.parse(await (await world.send('/api/schema/')).text())
})

/** Requests go to the world instead of a socket. */
const throughWorld: AxiosAdapter = async (config) => {
  const { pathname, search } = new URL(config.url ?? '', config.baseURL)
  const query = new URLSearchParams(config.params).toString()
  const body: unknown = config.data
  const answer = await world.send(`${pathname}${query === '' ? search : `?${query}`}`, {
    method: (config.method ?? 'get').toUpperCase(),
    headers: {
      Authorization: String(config.headers.get('Authorization')),
      'Content-Type': 'application/json',
    },
    ...(typeof body === 'string' ? { body } : {}),
  })
  const text = await answer.text()
  const data: unknown = text === '' ? null : JSON.parse(text)
  const { status, statusText } = answer
  return { data, status, statusText, headers: {}, config }
}

describe('the description of the API', () => {
  test('is valid OpenAPI 3.1 for a validator that knows nothing of us', async () => {
    const result = await new Validator().validate({ ...structuredClone(document) })
    expect(result).toMatchObject({ valid: true })
  })

  test('is what a generated client goes around the interface with (§4.4)', async () => {
    const api = new OpenAPIClientAxios({
      definition: document,
      axiosConfigDefaults: {
        adapter: throughWorld,
        headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
        validateStatus: () => true,
      },
    })
    const client = await api.init()
    const call = async (name: string, params: object, body?: unknown) => {
      const operation = client[name]
      if (operation === undefined) throw new Error(`no operation ${name}`)
      const { status, data } = await operation({ ...params }, body)
      return { status, data: data as Readonly<Record<string, unknown>> }
    }
    const ROOT = 'api_organizations_by_organization_id_projects'
    const ONE = `${ROOT}_by_project_id`
    const at = { organization_id: world.first.organization_id }
    const made = await call(`post_${ROOT}`, at, { name: 'Around' })
    expect(made).toMatchObject({ status: 201, data: { name: 'Around' } })
    const it = { ...at, project_id: Number(made.data['id']) }
    const page = await call(`get_${ROOT}`, { ...at, limit: 1, offset: 1 })
    expect(page.data).toMatchObject({ count: 2, results: [{ id: it.project_id }], next: null })
    const patched = await call(`patch_${ONE}`, it, { timezone: 'Asia/Tokyo' })
    expect(patched.data).toMatchObject({ name: 'Around', timezone: 'Asia/Tokyo' })
    for (const action of ['access_controls', 'activity', 'is_generating_demo_data']) {
      const read = await call(`get_${ONE}_${action}`, it)
      expect([action, read.status, read.data['id']]).toEqual([action, 200, it.project_id])
    }
    const reset = await call(`patch_${ONE}_reset_token`, it, {})
    expect(reset.data['api_token']).not.toBe(made.data['api_token'])
    expect(await call(`delete_${ONE}`, it)).toEqual({ status: 204, data: null as never })
    expect((await call(`get_${ONE}`, it)).status).toBe(404)
  })
})
