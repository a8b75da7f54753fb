/** The lock of a data folder: one holder, told to others, gone with its process. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  FolderInUse,
  findHolder,
  findRunning,
  takeLock,
} from '../../../src/storage/process/lock.ts'

/** These start processes, which a busy machine takes its time for. */
setDefaultTimeout(60_000)

const NOW = new Date('2026-01-02T03:04:05Z')
const HOLDER = join(import.meta.dir, 'lock-holder.ts')

let data_dir = ''
beforeEach(() => {
  data_dir = join(mkdtempSync(join(tmpdir(), 'tidemark-lock-')), 'data')
})
afterEach(() => {
  rmSync(join(data_dir, '..'), { recursive: true, force: true })
})

/** Starts a process that takes the lock and keeps it until killed. */
async function otherHolder() {
  const child = Bun.spawn([process.execPath, HOLDER, data_dir], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toBe('taken\n')
  return child
}

describe('the lock of a data folder', () => {
  test('is taken once, by whoever comes first, and says who that is', async () => {
    const child = await otherHolder()
    const message = `${data_dir} is in use by tidemark process ${child.pid}, serving http://127.0.0.1:1, since 2026-01-02T03:04:05.000Z`
    expect(() => takeLock(data_dir, process.pid, NOW)).toThrow(FolderInUse)
    expect(() => takeLock(data_dir, process.pid, NOW)).toThrow(message)
    child.kill('SIGKILL')
    await child.exited
  })

  test('vanishes with its process, however that ends, and a stale note blocks nobody', async () => {
    expect(findRunning(data_dir)).toBeNull()
    const child = await otherHolder()
    expect(findRunning(data_dir)?.pid).toBe(child.pid)
    child.kill('SIGKILL')
    await child.exited
    const note = join(data_dir, 'serve.json')
    expect(findHolder(data_dir)?.pid).toBe(child.pid)
    // A process that started later may have its number.
    writeFileSync(note, readFileSync(note, 'utf8').replace(`${child.pid}`, `${process.pid}`))
    expect(findHolder(data_dir)?.pid).toBe(process.pid)
    expect(findRunning(data_dir)).toBeNull()
    const lock = takeLock(data_dir, process.pid, NOW)
    expect(findHolder(data_dir)).toEqual({
      pid: process.pid,
      url: null,
      local_url: null,
      operator_key: null,
      started_at: '2026-01-02T03:04:05.000Z',
    })
    lock.release()
  })

  test('of a holder that was killed, or whose disk failed, leaves its mark until the databases were checked', async () => {
    const child = await otherHolder()
    child.kill('SIGKILL')
    await child.exited
    for (let time = 0; time < 2; time += 1) {
      const lock = takeLock(data_dir, process.pid, NOW)
      expect(lock.was_abandoned).toBe(true)
      lock.release()
    }
    const checking = takeLock(data_dir, process.pid, NOW)
    checking.noteChecked()
    checking.release()
    const next = takeLock(data_dir, process.pid, NOW)
    expect(next.was_abandoned).toBe(false)
    next.noteFault()
    next.release()
    const last = takeLock(data_dir, process.pid, NOW)
    expect(last.was_abandoned).toBe(true)
    last.release()
  })

  test('outlives the garbage collector', async () => {
    const child = await otherHolder()
    // The holder collects garbage every few milliseconds.
    await Bun.sleep(200)
    expect(() => takeLock(data_dir, process.pid, NOW)).toThrow(FolderInUse)
    child.kill('SIGKILL')
    await child.exited
  })

  test('is taken while other processes look whether it is', async () => {
    takeLock(data_dir, process.pid, NOW).release()
    const looking = Bun.spawn(
      [process.execPath, join(import.meta.dir, 'lock-looker.ts'), data_dir],
      {
        stdout: 'pipe',
      },
    )
    try {
      await looking.stdout.getReader().read()
      for (let taken = 0; taken < 500; taken += 1) takeLock(data_dir, process.pid, NOW).release()
    } finally {
      looking.kill('SIGKILL')
      await looking.exited
    }
  })

  test('can be given back and taken again', () => {
    takeLock(data_dir, process.pid, NOW).release()
    expect(findHolder(data_dir)).toBeNull()
    expect(existsSync(join(data_dir, 'serve.json'))).toBe(false)
    takeLock(data_dir, process.pid, NOW).release()
  })
})
