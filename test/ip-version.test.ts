import { expect, test } from 'bun:test'
import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { ipVersion } from '../src/ip-version.ts'
import { randomRuns } from './random-runs.ts'

const PIECES = [
  '0',
  '1',
  '9',
  '25',
  '255',
  '256',
  '01',
  'f',
  'ffff',
  'FFFFF',
  'g',
  '%',
  'eth0',
  ' ',
]
const SEPARATORS = [':', '::', '.', '', ':::', '%']

test.each([
  ['1.2.3.4', 4],
  ['::', 6],
  ['::1', 6],
  ['1::', 6],
  ['1:2:3:4:5:6:7:8', 6],
  ['1:2:3:4:5:6:7::', 6],
  ['::ffff:1.2.3.4', 6],
  ['1:2:3:4:5:6:1.2.3.4', 6],
  ['fe80::1%eth0', 6],
  ['1:2:3:4:5:6:7:8::', 0],
  ['1.2.3.4::', 0],
  ['1::1.2.3.4:5', 0],
  ['fe80::1%', 0],
  ['1.2.3', 0],
  ['1.2.3.04', 0],
  ['', 0],
])('%p is of version %d', (text, version) => {
  expect([ipVersion(text), isIP(text)]).toEqual([version, version])
})

test('the version of any text is the one that the runtime tells', () => {
  const pieces = fc.array(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom(...SEPARATORS)), {
    maxLength: 10,
  })
  const groups = fc.array(fc.constantFrom('1', 'ab', '', '1.2.3.4', 'ffff'), { maxLength: 9 })
  const texts = fc.oneof(
    pieces.map((drawn) => drawn.flat().join('')),
    groups.map((drawn) => drawn.join(':')),
    fc.ipV4(),
    fc.ipV6(),
  )
  fc.assert(
    fc.property(texts, (text) => {
      expect<number>(ipVersion(text)).toBe(isIP(text))
    }),
    randomRuns(2000),
  )
})
