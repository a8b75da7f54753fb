/** Backups by schedule on a machine that has no file left for a child process. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SOURCES = join(import.meta.dir, '../../src')

test('a backup that cannot be started is a failed backup, not the end of the server', () => {
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
    const log = { error: (_fields, message) => console.log(message), info: () => undefined }
    const backups = openBackups(config, log, () => new Date())
    backups.start()
    await Bun.sleep(50)
    console.log(backups.state.failed)
    await backups.close()`
  const limited = 'ulimit -n 100; exec "$0" -e "$1"'
  const { stdout } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
  expect(stdout.toString()).toBe('cannot list backups\nbackup failed\n1\n')
  rmSync(folder, { recursive: true, force: true })
})
