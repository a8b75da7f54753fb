/** The list of the original's operations is current, and says what a real server answers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openWorld, type World } from '../http/world.ts'
import {
  type CoveredOperation,
  LIST_FILE,
  printList,
  printTotals,
  README_FILE,
  readCoverage,
  withTotals,
} from './coverage.ts'

let world: World
let operations: readonly CoveredOperation[]
beforeAll(async () => {
  world = await openWorld()
  operations = await readCoverage()
})
afterAll(() => world.close())

test('the list and the totals in the README are current: `bun run coverage` writes them', async () => {
  expect(await Bun.file(LIST_FILE).text()).toBe(printList(operations))
  const readme = await Bun.file(README_FILE).text()
  expect(readme).toBe(withTotals(readme, printTotals(operations)))
  expect(operations.length).toBeGreaterThan(1000)
  expect(new Set(operations.map(({ method, path }) => `${method} ${path}`)).size).toBe(
    operations.length,
  )
})

const STATUSES = { refused: [405], absent: [400, 404] } as const

test('what is not here says so, to a caller with every right', async () => {
  const wrong: string[] = []
  for (const { method, path, state } of operations) {
    if (state === 'works') continue
    const concrete = path
      .replace('/api/organizations/{}', `/api/organizations/${world.first.organization_id}`)
      .replaceAll('{}', '1')
    const answer = await world.send(concrete, {
      method,
      headers: { Authorization: `Bearer ${world.first.personal_api_key}` },
      ...(method === 'GET' ? {} : { body: '{}' }),
    })
    const text = await answer.text()
    const is_described = text.includes('"type":') && text.includes('"detail":')
    const expected: readonly number[] = STATUSES[state]
    if (is_described && expected.includes(answer.status)) continue
    wrong.push(`${method} ${path} (${state}): ${answer.status} ${text.slice(0, 100)}`)
  }
  expect(wrong).toEqual([])
})

test('what works is a route: it asks for a key first', async () => {
  const wrong: string[] = []
  for (const { method, path, state } of operations) {
    if (state !== 'works') continue
    const answer = await world.send(path.replaceAll('{}', '1'), { method })
    if (answer.status !== 401) wrong.push(`${method} ${path}: ${answer.status}`)
  }
  expect(wrong).toEqual([])
})
