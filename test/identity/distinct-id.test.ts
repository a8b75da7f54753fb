/** Distinct ids: the uuid vectors and the list of illegal ids. */

import { describe, expect, test } from 'bun:test'
import { isIllegalId, personIdOf } from '../../src/identity/distinct-id.ts'
import { formatUuid } from '../../src/uuid.ts'

describe('personIdOf', () => {
  test.each([
    [1, 'distinct_id', '90f26d77-1832-5e44-8796-eec309e68010'],
    [1, 'user_1', '131ecd7b-7aa1-5121-8fd3-5353d39dd23e'],
    [2, 'test-user', 'bfdc96f3-ad26-5693-b45b-c35d52bf66fc'],
    [123, 'anonymous-1', 'd5c1e51b-21b7-5eed-aa74-9d93aec2c7af'],
    [1, '日本', 'aafd6941-3513-5d9a-9783-72fda511b7d5'],
  ])('of project %i and %s is %s', (project_id, distinct_id, id) => {
    expect(formatUuid(personIdOf(project_id, distinct_id))).toBe(id)
  })
})

describe('isIllegalId', () => {
  test.each([
    '',
    ' ',
    '\t\n',
    'anonymous',
    'Anonymous',
    'GUEST',
    'distinctid',
    'distinct_id',
    'id',
    'ID',
    'not_authenticated',
    'email',
    'undefined',
    'Undefined',
    'true',
    'FALSE',
    '[object Object]',
    'NaN',
    'None',
    'none',
    'null',
    '0',
    '"anonymous"',
    "'null'",
    '""',
    "' '",
    '"0"',
  ])('takes %j for nobody’s own', (id) => {
    expect(isIllegalId(id)).toBe(true)
  })

  test.each([
    'a',
    '00',
    'NULL',
    'nan',
    'NONE',
    'anonymous1',
    ' anonymous ',
    '[object object]',
    '"a"',
    '1',
  ])('takes %j for a person’s', (id) => {
    expect(isIllegalId(id)).toBe(false)
  })
})
