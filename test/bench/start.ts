/** How long a server for tests takes to start, from the call until its keys are there: a process each, one after the other. */
import { join } from 'node:path'
import { startTidemark } from '../../src/testing/start.ts'

type Start = typeof startTidemark

const ROOT = join(import.meta.dir, '../..')

/** The times of a number of starts, ms; from the source, or as another project starts it. */
export async function startTimes(count: number, start: Start = startTidemark): Promise<number[]> {
  const times_ms: number[] = []
  for (let done = 0; done < count; done += 1) {
    const started_ms = performance.now()
    const server = await start()
    times_ms.push(performance.now() - started_ms)
    await server.stop()
  }
  return times_ms
}

/** Packs the package, adds it to an empty project in a folder, and returns the function that is there. */
export async function installedStart(folder: string): Promise<Start> {
  const packed = runIn(ROOT, ['npm', 'pack', '--silent', '--pack-destination', folder])
  await Bun.write(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true }))
  runIn(folder, [process.execPath, 'add', join(folder, packed)])
  const installed = await import(Bun.resolveSync('tidemark/testing', folder))
  return installed.startTidemark
}

/** Runs a program to its end, and returns what it prints. Throws when it fails. */
function runIn(cwd: string, command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString()}`)
  return stdout.toString().trim()
}
