/** Backups by schedule on a machine that has no file left for a child process, and with a clock that is set back. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import { openBackups } from '../../src/serve/backups.ts'
import { childrenOf } from '../flows/processes/processes.ts'

const SOURCES = join(import.meta.dir, '../../src')

/** Runs `steps` beside a schedule whose backups cannot be started; its clock is `time_ms`. Returns what it prints. */
function runWithoutFiles(steps: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-backups-'))
  const program = `
    import { openSync } from 'node:fs'
    import { readConfig } from '${SOURCES}/config.ts'
    import { openBackups } from '${SOURCES}/serve/backups.ts'
    process.on('unhandledRejection', (error) => {
      console.log('ends: ' + error.message)
      process.exit(1)
    })
    const config = readConfig({ dataDir: '${folder}' }, { TIDEMARK_BACKUP_TO: '${folder}/kept' })
    const held = []
    try {
      for (;;) held.push(openSync('/dev/null', 'r'))
    } catch {}
    let time_ms = Date.now()
    const log = { error: (_fields, message) => console.log(message), info: () => undefined }
    const backups = openBackups(config, log, () => new Date(time_ms), 5)
    const waitForFailures = async (number) => {
      while (backups.state.failed < number) await Bun.sleep(5)
    }
    ${steps}
    console.log(backups.state.failed)
    await backups.close()`
  const limited = 'ulimit -n 100; exec timeout 30 "$0" -e "$1"'
  const { stdout } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
  rmSync(folder, { recursive: true, force: true })
  return stdout.toString()
}

test('a backup that cannot be started is a failed backup, not the end of the server', () => {
  expect(
    runWithoutFiles(`
      backups.start()
      await waitForFailures(1)
      await Bun.sleep(50)`),
  ).toBe('cannot list backups\nbackup failed\n1\n')
})

test('a clock that was ahead and is set back does not hold the next try', () => {
  expect(
    runWithoutFiles(`
      const right_ms = time_ms
      time_ms += 40 * 86_400_000
      backups.start()
      await waitForFailures(1)
      time_ms = right_ms
      await Bun.sleep(50)
      time_ms += 600_000
      await waitForFailures(2)`),
  ).toBe('cannot list backups\nbackup failed\nbackup failed\n2\n')
})

test.skipIf(process.platform !== 'linux')('a frozen backup does not hold the stop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-backups-'))
  const config = readConfig({ dataDir: folder }, { TIDEMARK_BACKUP_TO: `${folder}/kept` })
  const before = new Set(childrenOf(process.pid))
  const backups = openBackups(config, openLog('error', []), () => new Date())
  backups?.start()
  const started = childrenOf(process.pid).filter((pid) => !before.has(pid))
  expect(started.length).toBe(1)
  for (const pid of started) {
    process.kill(pid, 'SIGSTOP')
    while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T ')) await Bun.sleep(5)
  }
  await backups?.close()
  expect(childrenOf(process.pid).filter((pid) => started.includes(pid))).toEqual([])
  rmSync(folder, { recursive: true, force: true })
})
