/** What waits for its commit when its project is deleted. */
import { expect, test } from 'bun:test'
import { DefinitionTracker } from '../../../src/ingest/notes/definition-tracker.ts'
import { ProjectPlugins } from '../../../src/ingest/pipeline/plugins.ts'
import { Committer } from '../../../src/ingest/threads/committer.ts'
import {
  CAPTURE_LIMITS,
  type NumberedAnswer,
  type NumberedCapture,
} from '../../../src/ingest/threads/messages.ts'
import { openStores } from '../../../src/ingest/write/apply.ts'
import { deleteProjectSlice } from '../../../src/ingest/write/delete-project.ts'
import { ProjectTokens } from '../../../src/storage/control/project-tokens.ts'
import { bytesOf, Folder, NOW, OTHER_TOKEN, TOKEN } from '../folder.ts'

/** More than half of what a turn commits of what stands behind: the second one waits for the next turn. */
const EVENTS = 600

function migrationOf(api_key: string, id: number): NumberedCapture {
  const batch = Array.from({ length: EVENTS }, () => ({ event: 'a', distinct_id: 'd' }))
  return {
    id,
    path: '/batch',
    query: '',
    content_type: 'application/json',
    content_encoding: '',
    client_ip: '',
    received_at_ms: NOW,
    body: bytesOf({ api_key, historical_migration: true, batch }),
  }
}

test('what waits when its project is deleted is refused, and that of other projects is stored', async () => {
  const folder = new Folder()
  const stores = openStores(folder.path)
  const tokens = new ProjectTokens(folder.path)
  const plugins = new ProjectPlugins(folder.path)
  const answered = new Map<number, NumberedAnswer[1]>()
  const committer = new Committer({
    stores,
    tokens,
    plugins,
    limits: { ...CAPTURE_LIMITS, request_ms_max: 10_000 },
    locate: () => null,
    names: new DefinitionTracker(),
    answer: ({ answers }) => {
      for (const [id, answer] of answers) answered.set(id, answer)
    },
    breakDown: (message) => {
      throw new Error(message)
    },
    wake: () => undefined,
  })
  committer.receive([migrationOf(TOKEN, 1), migrationOf(TOKEN, 2), migrationOf(OTHER_TOKEN, 3)])
  committer.turn()
  expect([...answered.keys()]).toEqual([1])

  committer.refuseProject(1)
  stores.log.transact(() => void deleteProjectSlice(stores.log.db, 1, 1_000_000))
  while (committer.has_work) committer.turn()
  expect(Object.fromEntries(answered)).toEqual({
    1: { kind: 'stored', accepted: EVENTS, dropped: 0, repeated: 0 },
    2: {
      kind: 'refused',
      code: 'invalid_api_key',
      detail: 'Project API key is not valid.',
      attr: 'api_key',
    },
    3: { kind: 'stored', accepted: EVENTS, dropped: 0, repeated: 0 },
  })
  expect(folder.rows('select project_id, count(*) events from events group by 1')).toEqual([
    { project_id: 2, events: EVENTS },
  ])
  for (const table of ['persons', 'distinct_ids', 'ingest_counters', 'event_definitions']) {
    expect(folder.rows(`select * from ${table} where project_id = 1`)).toEqual([])
  }
  plugins.close()
  stores.log.close()
  tokens.close()
  await folder.remove()
})
