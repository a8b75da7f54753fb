/** Changes of properties whose lists are as long as a body: each name is looked at once. */
import { expect, test } from 'bun:test'
import { withoutKeys } from '../../../src/http/persons/property-changes.ts'

test('a list of names to remove may be as long as a body, and the properties many', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `p${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, 1]))
  const removed = Array.from({ length: 300_000 }, () => 'p7')
  expect(Object.keys(withoutKeys(properties, removed))).toEqual(
    names.filter((name) => name !== 'p7'),
  )
})
