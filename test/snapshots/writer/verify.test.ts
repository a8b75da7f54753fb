/** The comparison of files with their checksums, beside work that replaces them. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync, truncateSync } from 'node:fs'
import { verifyFiles } from '../../../src/snapshots/writer/verify.ts'
import { filePath } from '../../../src/storage/files/parquet.ts'
import { World } from '../../query/world.ts'
import { createJob, files, sendMixed } from '../snapshot-world.ts'

setDefaultTimeout(60_000)

test.each([
  ['whole', () => undefined],
  ['damaged', (path: string) => truncateSync(path, 100)],
])(
  'a %s file that is replaced while it is read is not reported, and the others are read',
  async (_, harm) => {
    await using world = new World()
    sendMixed(world, 300)
    const job = createJob(world)
    await job.run()
    await job.close()
    const [replaced, ...others] = files(world)
    const damaged = others.at(-1)
    if (replaced === undefined || damaged === undefined) throw new Error('too few files')
    const path = filePath(world.data_dir, replaced)
    harm(path)
    truncateSync(filePath(world.data_dir, damaged), 100)
    const reported: string[] = []
    const verifying = verifyFiles(world.log.db, world.data_dir, ({ id }) => reported.push(id))
    world.log.commitFiles({ flushed_seq: null, added: [], removed: [replaced.id] })
    rmSync(path)
    await verifying
    expect(reported).toEqual([damaged.id])
  },
)
