/** A file that is brought to the disk while it is written. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { syncWhileWritten } from '../../src/snapshots/writer/publish-file.ts'

const PIECE = Buffer.alloc(5 * 1024 * 1024, 'x')

let folder = ''
let path = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-growing-'))
  path = join(folder, 'file')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Whether this process has the file open. */
function isOpen(): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path
    } catch {
      // It was closed since it was listed.
      return false
    }
  })
}

async function untilOpen(): Promise<void> {
  while (!isOpen()) await Bun.sleep(5)
}

test('a file that grows is synced before it is whole, and let go of in the end', async () => {
  const synced = await syncWhileWritten(path, async () => {
    await Bun.sleep(50)
    appendFileSync(path, PIECE)
    await untilOpen()
    appendFileSync(path, PIECE)
  })
  expect(synced).toBeGreaterThanOrEqual(PIECE.length)
  expect(synced).toBeLessThanOrEqual(2 * PIECE.length)
  expect(statSync(path).size).toBe(2 * PIECE.length)
  expect(isOpen()).toBe(false)
})

test('a small file is left to the sync at its end', async () => {
  const synced = await syncWhileWritten(path, async () => {
    appendFileSync(path, 'little')
    await untilOpen()
  })
  expect(synced).toBe(0)
  expect(isOpen()).toBe(false)
})

test('a writer that fails fails with its own error, with and without a file', async () => {
  const nothing = syncWhileWritten(path, async () => {
    throw new Error('no rows')
  }).catch(String)
  expect(await nothing).toBe('Error: no rows')
  const half = syncWhileWritten(path, async () => {
    appendFileSync(path, PIECE)
    await untilOpen()
    throw new Error('no room')
  }).catch(String)
  expect(await half).toBe('Error: no room')
  expect(isOpen()).toBe(false)
})
