/** Who waits for the disk is told after it, in order, and never when it refused. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogSync } from '../../../src/storage/log/log-sync.ts'

test('everybody who waits is told once, in the order in which they came', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sync-'))
  const db = new Database(join(folder, 'events.db'), { create: true })
  db.run('pragma journal_mode = wal')
  db.run('create table t (x)')
  const failures: string[] = []
  const sync = new LogSync(join(folder, 'events.db-wal'), (message) => failures.push(message))
  const told: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  for (let number = 0; number < 5; number++) sync.settle(() => told.push(number))
  // Whoever comes from within waits for the next sync.
  sync.settle(() => sync.settle(() => resolve()))
  expect(told).toEqual([])
  await promise
  expect(told).toEqual([0, 1, 2, 3, 4])
  expect(failures).toEqual([])
  sync.close()
  db.close()
  rmSync(folder, { recursive: true })
})

test('many who come while syncs run beside each other are told in order, and never at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sync-'))
  await Bun.write(join(folder, 'events.db-wal'), 'log')
  const failures: string[] = []
  const sync = new LogSync(join(folder, 'events.db-wal'), (message) => failures.push(message))
  const told: number[] = []
  const count = 500
  const { promise, resolve } = Promise.withResolvers<void>()
  let came = 0
  const come = (): void => {
    if (came === count) return
    const number = came++
    let is_coming = true
    sync.settle(() => {
      expect(is_coming).toBe(false)
      told.push(number)
      if (told.length === count) resolve()
      // Every third one brings another, so that calls begin at all times.
      else if (number % 3 === 0) come()
    })
    is_coming = false
    setImmediate(come)
  }
  come()
  await promise
  expect(told).toEqual(Array.from({ length: count }, (_, number) => number))
  expect(failures).toEqual([])
  sync.close()
  rmSync(folder, { recursive: true })
})

test('nobody is told when the disk refused, then or later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sync-'))
  // A pipe can be opened, and cannot be synced.
  Bun.spawnSync(['mkfifo', join(folder, 'events.db-wal')])
  const writer = Bun.spawn(['sh', '-c', `exec sleep 30 > '${join(folder, 'events.db-wal')}'`])
  const failed = Promise.withResolvers<string>()
  const sync = new LogSync(join(folder, 'events.db-wal'), failed.resolve)
  const told: number[] = []
  sync.settle(() => told.push(1))
  expect(await failed.promise).toContain('cannot be synced')
  sync.settle(() => told.push(2))
  await Bun.sleep(20)
  expect(told).toEqual([])
  sync.close()
  writer.kill()
  rmSync(folder, { recursive: true })
})

test('who closes it from within leaves no sync behind that would look for a log that is gone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sync-'))
  await Bun.write(join(folder, 'events.db-wal'), 'log')
  const failures: string[] = []
  const sync = new LogSync(join(folder, 'events.db-wal'), (message) => failures.push(message))
  const told: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  sync.settle(() => {
    sync.close()
    rmSync(folder, { recursive: true })
    setImmediate(resolve)
  })
  sync.settle(() => told.push(2))
  await promise
  sync.settle(() => told.push(3))
  await Bun.sleep(20)
  expect(told).toEqual([])
  expect(failures).toEqual([])
})

test('a process that may open no more files syncs one call at a time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-sync-'))
  const path = join(folder, 'events.db-wal')
  const program = `
    import { openSync, writeFileSync } from 'node:fs'
    import { LogSync } from '${join(import.meta.dir, '../../../src/storage/log/log-sync.ts')}'
    writeFileSync('${path}', '')
    const sync = new LogSync('${path}', console.log)
    const held = []
    try {
      for (;;) held.push(openSync('/dev/null', 'r'))
    } catch {}
    sync.settle(() => console.log('first'))
    sync.settle(() => console.log('second'))
    await new Promise((resolve) => sync.settle(() => resolve(undefined)))`
  const limited = 'ulimit -n 100; exec "$0" -e "$1"'
  const { stdout } = Bun.spawnSync(['sh', '-c', limited, process.execPath, program])
  expect(stdout.toString()).toBe('first\nsecond\n')
  rmSync(folder, { recursive: true })
})
