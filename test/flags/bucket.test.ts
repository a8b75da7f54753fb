/** The hash behind rollouts, variants and holdouts, against the published vectors. */
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  Buckets,
  bucketKey,
  bucketOf,
  holdoutBucket,
  rolloutBucket,
  variantBucket,
} from '../../src/flags/bucket.ts'
import { codePoint } from '../code-points.ts'
import { makeDefinitions, makeFlag, makePerson, valuesFor } from './make.ts'

describe('the buckets', () => {
  test.each([
    ['simple-flag', 'distinct_id', '588078f5a1d57fa', 0.3457103347480679],
    ['simple-flag', 'user_1', '6c30bd3e588329d', 0.42261870166886395],
    ['simple-flag', 'distinct_id_0', 'c8a05362b9f414f', 0.7836963764220432],
    ['simple-flag', '', '7d826afaf3bcb69', 0.4902712690998098],
    ['beta-feature', 'some-distinct-id', '57f020d55a142a8', 0.3435078163984861],
    ['beta-feature', 'user_id', '54432a52ad0bd26', 0.32914986151176545],
    ['group-flag', 'amazon', '8b12954da88153a', 0.5432523073764106],
    ['group-flag', 'amazon_without_rollout', '4f18bb0ff260836', 0.30897111071897326],
    ['flag', '日本', 'cb87c440651bfa0', 0.795040384026933],
  ])('of %s for %p has the digits %s and the value %p', (key, identifier, digits, value) => {
    expect(rolloutBucket(key, identifier)).toBe(value)
    expect(rolloutBucket(key, identifier)).toBe(Number.parseInt(digits, 16) / 2 ** 60)
  })

  test.each([
    ['multivariate-flag', 'distinct_id_0', '9e5f8c67dc34910', 0.6186454537930379],
    ['multivariate-flag', 'distinct_id_1', 'a5b6890138e0a62', 0.6473165157302697],
    ['beta-feature', 'some-distinct-id', 'ea3f650589ed708', 0.9150298250696574],
  ])(
    'of the variants of %s for %p has the digits %s and the value %p',
    (key, identifier, digits, value) => {
      expect(variantBucket(key, identifier)).toBe(value)
      expect(variantBucket(key, identifier)).toBe(Number.parseInt(digits, 16) / 2 ** 60)
    },
  )

  test.each([
    ['example_id', 0.9402003475831224],
    ['distinct_id_0', 0.6560969302723004],
    ['user_1', 0.3590969650743102],
  ])('of a holdout for %p has the value %p', (identifier, value) => {
    expect(holdoutBucket(identifier)).toBe(value)
  })

  test('of a text with a lone surrogate is that of its well-formed text', () => {
    expect(bucketOf('a\ud800b')).toBe(bucketOf('a\ufffdb'))
  })
})

describe('the buckets of one person after the other', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: codePoint, maxLength: 80 }),
    fc.constantFrom('', 'variant', 'a'.repeat(64), 'a'.repeat(65), 'é', 'a\ud800'),
  )

  test('are those of each for each flag, whatever was asked before', () => {
    const buckets = new Buckets()
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), fc.array(text), (keys, identifiers) => {
        for (const identifier of identifiers) {
          buckets.setIdentifier(identifier)
          for (const key of keys) {
            expect(buckets.rollout(bucketKey(key))).toBe(rolloutBucket(key, identifier))
            expect(buckets.variant(bucketKey(key))).toBe(variantBucket(key, identifier))
          }
        }
      }),
    )
  })
})

describe('the published series', () => {
  const ids = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `distinct_id_${index}`)

  test('of simple-flag at 45 % comes out', () => {
    const definitions = makeDefinitions([
      makeFlag({ key: 'simple-flag', filters: { groups: [{ rollout_percentage: 45 }] } }),
    ])
    const values = ids(5).map((distinct_id) => valuesFor(definitions, makePerson({ distinct_id })))
    expect(values.map((value) => value['simple-flag'])).toEqual([false, true, true, false, true])
  })

  test('of multivariate-flag at 55 % with five variants comes out', () => {
    const percentages = { first: 50, second: 20, third: 20, fourth: 5, fifth: 5 }
    const variants = Object.entries(percentages).map(([name, rollout_percentage]) => ({
      key: `${name}-variant`,
      name,
      rollout_percentage,
    }))
    const filters = { groups: [{ rollout_percentage: 55 }], multivariate: { variants } }
    const definitions = makeDefinitions([makeFlag({ key: 'multivariate-flag', filters })])
    const values = ids(8).map((distinct_id) => valuesFor(definitions, makePerson({ distinct_id })))
    expect(values.map((value) => value['multivariate-flag'])).toEqual([
      'second-variant',
      'second-variant',
      'first-variant',
      false,
      false,
      'second-variant',
      'first-variant',
      false,
    ])
  })
})
