/** The threads of a project leave address space for other projects; engine-restarts.test.ts opens more than have room. */
import { expect, test } from 'bun:test'
import { MIB } from '../../../../src/bytes.ts'
import { boundThreads } from '../../../../src/query/worker/limits/opening-room.ts'

test('a project has every thread, unless their stacks take a fifth of the address space', () => {
  const bounded = [8, 64].map((threads) =>
    [224, 1664, 16_000].map((mb) => boundThreads(threads, mb * MIB)),
  )
  expect(bounded).toEqual([
    [6, 8, 8],
    [6, 42, 64],
  ])
})
