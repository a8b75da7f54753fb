/** A deleted project's files: gone from the manifest and from the disk, while other projects answer as before. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { ask, World } from '../query/world.ts'
import { createJob, FINGERPRINT, files, filesOnDisk, sendMixed } from './snapshot-world.ts'

setDefaultTimeout(60_000)

test('forgetting a project deletes its files and nobody else’s', async () => {
  await using world = new World()
  sendMixed(world, 2000)
  const engine = world.openEngine()
  const job = createJob(world, { readers: engine })
  await job.run()
  const before = await ask(engine, FINGERPRINT, { project_id: 2 })
  expect(files(world).filter(({ project_id }) => project_id === 1).length).toBeGreaterThan(0)
  await job.forgetProject(1)
  expect(files(world).filter(({ project_id }) => project_id === 1)).toEqual([])
  expect(filesOnDisk(world)).toHaveLength(files(world).length)
  expect(await ask(engine, FINGERPRINT, { project_id: 2 })).toEqual(before)
  const [[count]] = (await ask(engine, FINGERPRINT, { project_id: 1 })) as [number[]]
  expect(count).toBe(0)
  // A second time there is nothing to do.
  await job.forgetProject(1)
  expect(await ask(engine, FINGERPRINT, { project_id: 2 })).toEqual(before)
  await job.close()
})
