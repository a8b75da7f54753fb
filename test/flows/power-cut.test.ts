/** A power cut: what a loop-mounted disk holds at a moment, with everything lost that was not fsynced. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeBatches, sendBatches } from './clients/ledger.ts'
import { askHogQL, type Server, startServer } from './processes/server.ts'

setDefaultTimeout(180_000)

const CUTS = 3

const folder = mkdtempSync(join(tmpdir(), 'tidemark-cut-'))
const image = join(folder, 'disk.img')
const disk = join(folder, 'disk')
const mounted = new Set<string>()
/** Whoever still serves from a mounted disk keeps it from being unmounted, also after a failed test. */
const servers: Server[] = []

const run = (...command: readonly string[]): boolean =>
  Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).success

function mount(file: string, on: string): boolean {
  mkdirSync(on, { recursive: true })
  const done = run('mount', '-o', 'loop', file, on)
  if (done) mounted.add(on)
  return done
}

function unmount(from: string): void {
  if (run('umount', from)) mounted.delete(from)
}

/** Needs root and loop devices; elsewhere the kill rounds are what is left to show. */
const canCutPower =
  run('truncate', '-s', '512M', image) && run('mkfs.ext4', '-q', '-F', image) && mount(image, disk)

afterAll(async () => {
  for (const server of servers) await server.kill()
  for (const from of mounted) unmount(from)
  rmSync(folder, { recursive: true, force: true })
})

test.skipIf(!canCutPower)(
  'a power cut loses no answered event and doubles none',
  async () => {
    const batches = makeBatches(4, 1500)
    const server = await startServer({
      data_dir: join(disk, 'data'),
      env: { TIDEMARK_SNAPSHOT_ROWS: '15000' },
    })
    servers.push(server)
    const sending = sendBatches(server.url, batches, 4)
    const answered_at_cut: number[] = []
    for (let cut = 0; cut < CUTS; cut++) {
      // Not before there is something to lose.
      while (!batches.some((batch) => batch.answered)) await Bun.sleep(10)
      await Bun.sleep(600)
      answered_at_cut.push(batches.filter((batch) => batch.answered).length * 100)
      // The image file holds what reached the disk; what only the mounted side's cache holds is not copied.
      copyFileSync(image, join(folder, `cut-${cut}.img`))
    }
    await server.kill()
    await sending
    unmount(disk)

    for (let cut = 0; cut < CUTS; cut++) {
      const after = join(folder, `after-${cut}`)
      expect(mount(join(folder, `cut-${cut}.img`), after)).toBe(true)
      const survivor = await startServer({ data_dir: join(after, 'data') })
      const { results } = await askHogQL(
        survivor.url,
        'select count(), count(distinct uuid) from events',
      )
      expect(results[0]?.[0]).toBe(results[0]?.[1])
      expect(Number(results[0]?.[0])).toBeGreaterThanOrEqual(answered_at_cut[cut] ?? 0)
      expect(Number(results[0]?.[0]) % 100).toBe(0)
      expect(await survivor.stop()).toBe(0)
      unmount(after)
    }
    expect(answered_at_cut.every((answered) => answered > 0)).toBe(true)
  },
  180_000,
)
