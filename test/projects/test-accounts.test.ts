/** Whom a new project takes for its own people. */
import { expect, test } from 'bun:test'
import { testAccountFilters } from '../../src/projects/settings/test-accounts.ts'

const HOST = {
  key: '$host',
  operator: 'not_regex',
  value: String.raw`^(localhost|127\.0\.0\.1)($|:)`,
  type: 'event',
}
const colleagues = (domain: string) => ({
  key: 'email',
  type: 'person',
  operator: 'not_icontains',
  value: `@${domain}`,
})

test.each([
  ['ann@Acme.example', [HOST, colleagues('acme.example')]],
  ['ann@mail.acme.co.uk', [HOST, colleagues('mail.acme.co.uk')]],
  ['ann@gmail.com', [HOST]],
  ['ANN@Outlook.com', [HOST]],
  ['owner@localhost', [HOST]],
  ['no address', [HOST]],
  ['', [HOST]],
  [null, [HOST]],
])('the creator %p leaves out %j', (email, filters) => {
  expect(testAccountFilters(email)).toEqual(filters)
})
