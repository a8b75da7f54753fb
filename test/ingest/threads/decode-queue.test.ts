/** Requests that unfold to far more than was sent: how many of them are worked on at a time. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { DefinitionTracker } from '../../../src/ingest/notes/definition-tracker.ts'
import { ProjectPlugins } from '../../../src/ingest/pipeline/plugins.ts'
import { DecodeQueue } from '../../../src/ingest/threads/decode-queue.ts'
import { CAPTURE_LIMITS, type NumberedCapture } from '../../../src/ingest/threads/messages.ts'
import { ProjectTokens } from '../../../src/storage/control/project-tokens.ts'
import { bytesOf, Folder, NOW, OTHER_TOKEN, TOKEN } from '../folder.ts'

const EVENTS = 19
/** Nineteen megabytes that are sent as twenty kilobytes. */
const PACKED = Bun.gzipSync(
  JSON.stringify({
    api_key: TOKEN,
    batch: Array.from({ length: EVENTS }, () => ({
      event: 'e',
      distinct_id: 'd',
      properties: { text: 'x'.repeat(1_000_000) },
    })),
  }),
)
const SMALL = new TextEncoder().encode(
  JSON.stringify({ api_key: TOKEN, event: 'e', distinct_id: 'd' }),
)

const capture = (id: number, body: Uint8Array<ArrayBuffer>): NumberedCapture => ({
  id,
  path: '/batch',
  query: '',
  content_type: 'application/json',
  content_encoding: '',
  client_ip: '',
  received_at_ms: NOW,
  body,
})

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open()
})
afterEach(() => folder.remove())

test('few are begun before others are answered, and small ones wait for none of them', () => {
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const prepared: number[] = []
  const preparer = new DecodeQueue({
    guesses_tokens: true,
    tokens,
    plugins,
    names: new DefinitionTracker(),
    limits: CAPTURE_LIMITS,
    locate: () => null,
    takeSlice: (job, is_last) => {
      if (is_last) prepared.push(job.id)
    },
    refuse: (answers) => {
      throw new Error(JSON.stringify(answers))
    },
  })
  const work = (): void => {
    while (preparer.has_work) preparer.turn()
  }
  preparer.receive([1, 2, 3, 4].map((id) => capture(id, PACKED)))
  work()
  expect(prepared).toEqual([1, 2])
  preparer.receive([capture(5, SMALL)])
  work()
  expect(prepared).toEqual([1, 2, 5])
  preparer.settle([5])
  work()
  expect(prepared).toHaveLength(3)
  preparer.settle([2])
  work()
  preparer.settle([1, 3])
  work()
  expect(prepared).toEqual([1, 2, 5, 3, 4])
  plugins.close()
  tokens.close()
})

test('what is prepared of one is passed on before the next one is read', () => {
  const happened: string[] = []
  class Names extends DefinitionTracker {
    override list(project_id: number, now: number): ReturnType<DefinitionTracker['list']> {
      happened.push('read')
      return super.list(project_id, now)
    }
  }
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const preparer = new DecodeQueue({
    guesses_tokens: true,
    tokens,
    plugins,
    names: new Names(),
    limits: CAPTURE_LIMITS,
    locate: () => null,
    takeSlice: (job, is_last) => happened.push(`${job.id} ${is_last}`),
    refuse: (answers) => happened.push(...answers.map(([id, { kind }]) => `${id} ${kind}`)),
  })
  const nonsense = new TextEncoder().encode('{"batch":')
  preparer.receive([capture(1, SMALL), capture(2, nonsense), capture(3, SMALL)])
  preparer.turn()
  expect(happened).toEqual(['read', '1 true', 'read', '3 true', '2 refused'])
  plugins.close()
  tokens.close()
})

test('projects take turns, whoever sends more', () => {
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const begun: number[] = []
  const decoder = new DecodeQueue({
    guesses_tokens: true,
    tokens,
    plugins,
    names: new DefinitionTracker(),
    limits: CAPTURE_LIMITS,
    locate: () => null,
    takeSlice: ({ id }) => begun.push(id),
    refuse: (answers) => {
      throw new Error(JSON.stringify(answers))
    },
  })
  const event = { event: 'e', distinct_id: 'd', properties: { text: 'x'.repeat(500_000) } }
  const large = (token: string) => ({
    api_key: token,
    batch: Array.from({ length: 4 }, () => event),
  })
  const plain = (id: number, token: string) => capture(id, bytesOf(large(token)))
  const packed = (id: number, token: string) =>
    capture(id, Bun.gzipSync(JSON.stringify(large(token))))
  decoder.receive([plain(1, TOKEN), packed(2, TOKEN), plain(3, TOKEN), packed(4, TOKEN)])
  decoder.receive([packed(5, OTHER_TOKEN), plain(6, OTHER_TOKEN)])
  while (decoder.has_work) decoder.turn()
  expect([...new Set(begun)]).toEqual([1, 5, 2, 6, 3, 4])
  plugins.close()
  tokens.close()
})

test('a project that has taken most of the memory waits, and others do not', () => {
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const begun = new Set<number>()
  const decoder = new DecodeQueue({
    guesses_tokens: true,
    tokens,
    plugins,
    names: new DefinitionTracker(),
    limits: CAPTURE_LIMITS,
    locate: () => null,
    takeSlice: ({ id }) => begun.add(id),
    refuse: (answers) => {
      throw new Error(JSON.stringify(answers))
    },
  })
  const event = { event: 'e', distinct_id: 'd', properties: { text: 'x'.repeat(900_000) } }
  const large = (id: number, api_key: string) =>
    capture(id, bytesOf({ api_key, batch: Array.from({ length: 8 }, () => event) }))
  const work = (): void => {
    while (decoder.has_work) decoder.turn()
  }
  decoder.receive([1, 2, 3, 4, 5, 6].map((id) => large(id, TOKEN)))
  work()
  expect([...begun]).toEqual([1, 2, 3, 4, 5])
  decoder.receive([large(7, OTHER_TOKEN)])
  work()
  expect([...begun]).toEqual([1, 2, 3, 4, 5, 7])
  decoder.settle([1, 2])
  work()
  expect([...begun]).toEqual([1, 2, 3, 4, 5, 7, 6])
  plugins.close()
  tokens.close()
})

test('all of them are stored in the end, on both ways', async () => {
  const packed = () => folder.send(PACKED)
  const first = await packed()
  const later = await Promise.all([packed(), packed(), folder.send(SMALL), packed()])
  expect([first, ...later].map(({ kind }) => kind)).toEqual(Array(5).fill('stored'))
  expect(folder.rows('select count(*) as n from events')).toEqual([{ n: 4 * EVENTS + 1 }])
}, 60_000)
