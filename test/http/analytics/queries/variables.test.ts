/** Variables of queries: kept under a project, and what stands for them in HogQL. */
import { describe, expect, test } from 'bun:test'
import { joinWorld } from '../../shared-world.ts'
import { manage } from '../../targeting/flag-world.ts'

const world = await joinWorld()
const { project_id } = world.first

const VARIABLES = `/api/projects/${project_id}/insight_variables/`
const NOWHERE = '00000000-0000-4000-8000-000000000000'

const make = (body: object) => manage(world, 'POST', VARIABLES, body)

describe('a variable', () => {
  test('is named in queries by what its name makes, and goes on being so', async () => {
    const made = await make({ name: ' Paid Plan! ', type: 'String', default_value: 'pro' })
    expect(made).toMatchObject({
      status: 201,
      body: { name: ' Paid Plan! ', code_name: 'paid_plan', type: 'String', default_value: 'pro' },
    })
    const path = `${VARIABLES}${String(made.body['id'])}/`
    const changed = await manage(world, 'PATCH', path, { name: 'Plan', default_value: 'free' })
    expect(changed.body).toEqual({ ...made.body, name: 'Plan', default_value: 'free' })
    expect((await manage(world, 'GET', path)).body).toEqual(changed.body)
    const listed = await manage(world, 'GET', VARIABLES)
    expect(listed.body).toMatchObject({ count: 1, results: [changed.body] })
    expect((await manage(world, 'DELETE', path)).status).toBe(204)
    expect((await manage(world, 'GET', path)).status).toBe(404)
    expect((await manage(world, 'DELETE', path)).status).toBe(404)
  })

  test('needs a name of its own that queries can say', async () => {
    await make({ name: 'Country', type: 'List', values: ['NL', 'DE'] })
    expect(await make({ name: 'COUNTRY', type: 'String' })).toMatchObject({
      status: 400,
      body: { code: 'unique', attr: 'name' },
    })
    expect(await make({ name: '!?', type: 'String' })).toMatchObject({
      status: 400,
      body: { attr: 'name' },
    })
    expect(
      await make({ name: 'long', type: 'String', default_value: 'x'.repeat(20_001) }),
    ).toMatchObject({ status: 400, body: { code: 'max_length', attr: 'default_value' } })
  })

  test('stands in queries for what they say, else for its default; in those of its own project', async () => {
    const { body } = await make({ name: 'Limit', type: 'Number', default_value: 7 })
    const id = String(body['id'])
    const ask = async (variables: object, more: object = {}, of_project = project_id) => {
      const query = { kind: 'HogQLQuery', query: 'SELECT {variables.limit}', variables }
      const answer = await manage(world, 'POST', `/api/projects/${of_project}/query/`, {
        query,
        ...more,
      })
      return answer.status === 200 ? (answer.body['results'] as unknown[][])[0]?.[0] : answer.status
    }
    const named = { variableId: id, code_name: 'limit' }
    expect(await ask({ [id]: named })).toBe(7)
    expect(await ask({ [id]: { variableId: id } })).toBe(7)
    expect(await ask({ [id]: { ...named, value: null } })).toBe(7)
    expect(await ask({ [id]: { ...named, value: '' } })).toBe(7)
    expect(await ask({ [id]: { ...named, value: 0 } })).toBe(0)
    expect(await ask({ [id]: { ...named, value: 3 } })).toBe(3)
    expect(await ask({ [id]: { ...named, value: 3, isNull: true } })).toBeNull()
    const over = { variables_override: { [id]: { ...named, value: 9 } } }
    expect(await ask({ [id]: named }, over)).toBe(9)
    expect(await ask({ [NOWHERE]: { ...named, variableId: NOWHERE } })).toBeNull()
    expect(await ask({})).toBe(400)
    // The answer of before is not that of the changed default.
    await manage(world, 'PATCH', `${VARIABLES}${id}/`, { default_value: 8 })
    expect(await ask({ [id]: named })).toBe(8)
    const { body: other } = await manage(world, 'POST', '/api/projects/', { name: 'other' })
    expect(await ask({ [id]: named }, {}, Number(other['id']))).toBeNull()
    const path = `/api/projects/${String(other['id'])}/insight_variables/${id}/`
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const call = await manage(world, method, path, method === 'PATCH' ? {} : undefined)
      expect(call.status).toBe(404)
    }
  })
})
