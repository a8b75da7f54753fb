/** What becomes of a snapshot process that is killed before it has heard what to do. */
import { expect, test } from 'bun:test'
import { SnapshotChildren } from '../../src/snapshots/child.ts'

/** More than a pipe holds, as the columns of many files are. */
const LENGTH = 1_000_000

test('a process that ends before it has heard all of its work has failed, and nothing else has', async () => {
  const children = new SnapshotChildren()
  const run = children.run({ kind: 'verify', data_dir: 'x'.repeat(LENGTH) })
  children.kill()
  const said = await run.then(String, String)
  expect(said).toStartWith('Error: snapshot process ended with 137')
})
