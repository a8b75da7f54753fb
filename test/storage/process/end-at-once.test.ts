/** A process ends without running anything more, also as the first one of a container. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

const SOURCE = join(import.meta.dir, '../../../src/storage/process/end-at-once.ts')
const PROGRAM = `
  const { endAtOnce } = await import('${SOURCE}')
  process.on('exit', () => console.log('an ordinary exit'))
  console.log('first:', process.pid === 1)
  endAtOnce()
  console.log('it goes on')`

/** As in a container, the process has a numbering of processes for itself. */
const CONTAINER = ['unshare', '--user', '--map-root-user', '--pid', '--fork']
const hasContainers =
  Bun.which('unshare') !== null && Bun.spawnSync([...CONTAINER, 'true']).exitCode === 0

async function run(command: readonly string[]): Promise<[output: string, status: number]> {
  const child = Bun.spawn([...command, process.execPath, '-e', PROGRAM])
  return [await child.stdout.text(), await child.exited]
}

test('it ends as by SIGKILL', async () => {
  expect(await run([])).toEqual(['first: false\n', 137])
})

test.skipIf(!hasContainers)('so does the first process of a container', async () => {
  expect(await run(CONTAINER)).toEqual(['first: true\n', 137])
})
