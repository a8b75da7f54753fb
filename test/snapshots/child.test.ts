/** What becomes of a snapshot process that is killed before it has heard what to do. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { SnapshotChildren } from '../../src/snapshots/child.ts'
import { World } from '../query/world.ts'

setDefaultTimeout(60_000)

/** More than a pipe holds, as the columns of many files are. */
const LENGTH = 1_000_000

test('a process that ends before it has heard all of its work has failed, and nothing else has', async () => {
  const children = new SnapshotChildren(null)
  const run = children.run({ kind: 'verify', data_dir: 'x'.repeat(LENGTH) })
  children.kill()
  const said = await run.then(String, String)
  expect(said).toStartWith('Error: snapshot process ended with 137')
})

test('a process that is confined to one data folder cannot read another', async () => {
  await using own = new World()
  await using other = new World()
  for (const world of [own, other]) world.send({})
  const verify = async (confined_dir: string | null, data_dir: string): Promise<string> => {
    const work = { kind: 'verify', data_dir } as const
    return new SnapshotChildren(confined_dir).run(work).then(() => 'done', String)
  }
  expect(await verify(null, other.data_dir)).toBe('done')
  expect(await verify(own.data_dir, own.data_dir)).toBe('done')
  expect(await verify(own.data_dir, other.data_dir)).toContain('unable to open database file')
})
