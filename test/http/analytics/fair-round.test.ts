/** Rounds of due alerts and subscriptions: no project waits for more than one thing of another. */
import { expect, test } from 'bun:test'
import { FairRounds } from '../../../src/http/analytics/alerts/fair-round.ts'

type Due = { readonly id: number; readonly project_id: number }

/** Rounds over a list, which loses what is served. */
function roundsOver(due: Due[], serve: (item: Due) => Promise<void>) {
  const errors: object[] = []
  const rounds = new FairRounds<Due>({
    listDue: () => [...due],
    serve: async (item) => {
      await serve(item)
      due.splice(due.indexOf(item), 1)
    },
    isOpen: () => true,
    log: { error: (fields) => errors.push(fields) },
  })
  return { rounds, errors }
}

const dueOf = (project_id: number, count: number): Due[] =>
  Array.from({ length: count }, (_, index) => ({ id: project_id * 100 + index, project_id }))

test('those of two slow projects wait for those of the others, one after the other', async () => {
  const due = [...dueOf(1, 4), ...dueOf(2, 4)]
  const served: number[] = []
  let running = new Set<number>()
  const { rounds } = roundsOver(due, async ({ project_id }) => {
    expect(running.has(project_id)).toBe(false)
    running = running.union(new Set([project_id]))
    expect(running.size).toBeLessThan(3)
    // Others become due while the first ones are served.
    if (served.length === 0 && project_id === 1) due.push(...dueOf(3, 2), ...dueOf(4, 2))
    await Bun.sleep(project_id < 3 ? 40 : 0)
    running = running.difference(new Set([project_id]))
    served.push(project_id)
  })
  await rounds.run(100)
  expect(due).toEqual([])
  expect(served.slice(0, 6).filter((project_id) => project_id > 2)).toHaveLength(4)
})

test('one that fails ends neither its round nor the others, and is tried again in the next round', async () => {
  const due = [...dueOf(1, 2), ...dueOf(2, 2)]
  let is_broken = true
  const { rounds, errors } = roundsOver(due, async ({ id }) => {
    await Promise.resolve()
    if (is_broken && id === 100) throw new Error('broken')
  })
  await rounds.run(100)
  expect(due).toEqual([{ id: 100, project_id: 1 }])
  expect(errors).toMatchObject([{ id: 100, project_id: 1 }])
  is_broken = false
  await rounds.run(100)
  expect(due).toEqual([])
})

test('a round serves so many at most', async () => {
  const due = dueOf(1, 5)
  const { rounds } = roundsOver(due, () => Promise.resolve())
  await rounds.run(3)
  expect(due).toHaveLength(2)
})

test('a round that cannot list what is due ends when all that it began is over', async () => {
  const due = [...dueOf(1, 1), ...dueOf(2, 1)]
  const slow = Promise.withResolvers<void>()
  let served = 0
  let lists = 0
  const rounds = new FairRounds<Due>({
    listDue() {
      lists += 1
      if (lists > 2) throw new Error('the disk is broken')
      return due
    },
    async serve({ project_id }) {
      if (project_id === 1) await slow.promise
      served += 1
    },
    isOpen: () => true,
    log: { error: () => undefined },
  })
  setTimeout(slow.resolve, 20)
  const reason = await rounds.run(100).then(
    () => '',
    (error: unknown) => String(error),
  )
  expect([reason, served]).toEqual(['Error: the disk is broken', 2])
})
