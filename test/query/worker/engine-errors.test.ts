/** Errors of the engine and of the runtime become refusals in our words. */
import { expect, test } from 'bun:test'
import { engineRefusal, type SentCode } from '../../../src/query/worker/engine-errors.ts'

test.each<[string, SentCode]>([
  ['std::bad_alloc', 'query_memory'],
  ['Failed to allocate memory', 'query_memory'],
  ['Out of Memory Error: could not allocate block', 'query_memory'],
  [
    "Invalid Input Error: File '/data/1.parquet' too small to be a Parquet file",
    'storage_unavailable',
  ],
  ["Invalid Error: don't know what type: \u000f", 'storage_unavailable'],
  ['Conversion Error: Type INT64 with value 1 can’t be cast', 'query_failed'],
])('%s is %s, without its words', (message, code) => {
  const refusal = engineRefusal(new RangeError(message))
  expect(refusal.code).toBe(code)
  expect(refusal.detail).not.toContain(message)
})

test('a worker that had little memory left before does not blame the query', () => {
  expect(engineRefusal(new RangeError('Failed to allocate memory'), true).code).toBe(
    'engine_exhausted',
  )
})
