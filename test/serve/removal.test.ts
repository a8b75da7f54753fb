/** What is left of deleted projects is removed after a start, and what cannot be done then keeps nobody from serving. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLog } from '../../src/logs.ts'
import { listForRemoval, listRemovedProjects } from '../../src/projects/removals.ts'
import { openRemoval } from '../../src/serve/removal.ts'
import { openControl } from '../../src/storage/control/control-db.ts'

test('a disk that refuses to forget a removed project ends no server', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tidemark-removal-'))
  const control = openControl(data_dir)
  const end = Promise.withResolvers<string>()
  const removed: number[] = []
  const rooms = { forgetProject: async (project_id: number) => void removed.push(project_id) }
  const removal = openRemoval({
    control,
    capture: rooms,
    snapshots: rooms,
    query_service: { dropProject: () => undefined },
    log: openLog('error', [], { write: (line) => end.resolve(line) }),
  })
  listForRemoval(control.db, [7], new Date())
  control.db.run('pragma query_only = 1')
  removal.finish()
  expect(await end.promise).toContain('could not be forgotten')
  expect(removed).toEqual([7, 7])
  control.db.run('pragma query_only = 0')
  // The next start finds it.
  expect(listRemovedProjects(control.db)).toEqual([7])
  control.close()
  rmSync(data_dir, { recursive: true })
})
