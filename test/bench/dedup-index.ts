/** The cost of exactly-once: claims of new and of known uuids beside millions of known ones (`bun test/bench/dedup-index.ts 50`). */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventLog } from '../../src/storage/log/event-log.ts'

const MILLIONS = Number(process.argv[2] ?? 50)
const ROWS_PER_COMMIT = 1000
const MEASURED = 200_000

const folder = mkdtempSync(join(tmpdir(), 'tidemark-uuids-'))
const log = new EventLog(folder)

/** A random uuid (v4 and most clients') that sorts near the given place, 0 to 1, so that filling is fast. */
function uuidAt(place: number): Uint8Array {
  const uuid = crypto.getRandomValues(new Uint8Array(16))
  new DataView(uuid.buffer).setUint32(0, Math.floor(place * 0xffff_ffff))
  return uuid
}

function claimsPerSecond(count: number, uuid: (index: number) => Uint8Array): number {
  const started = performance.now()
  for (let first = 0; first < count; first += ROWS_PER_COMMIT) {
    log.transact(() => {
      for (let index = first; index < first + ROWS_PER_COMMIT; index++) {
        log.claimUuid(1, uuid(index), 20_000)
      }
    })
    if (first % (100 * ROWS_PER_COMMIT) === 0) log.checkpoint()
  }
  return Math.round(count / ((performance.now() - started) / 1000))
}

const total = MILLIONS * 1_000_000
const known: Uint8Array[] = []
const filled = claimsPerSecond(total, (index) => {
  const uuid = uuidAt(index / total)
  if (index % Math.ceil(total / MEASURED) === 0) known.push(uuid)
  return uuid
})
known.sort(() => Math.random() - 0.5)
const random = claimsPerSecond(MEASURED, () => uuidAt(Math.random()))
const ordered = claimsPerSecond(
  MEASURED,
  () => new Uint8Array(Buffer.from(Bun.randomUUIDv7('buffer'))),
)
const repeated = claimsPerSecond(
  known.length - (known.length % ROWS_PER_COMMIT),
  (index) => known[index] ?? uuidAt(0),
)
const resident_mb = Math.round(process.memoryUsage.rss() / 1e6)
log.close()
const bytes = statSync(join(folder, 'events.db')).size
process.stdout.write(
  `${MILLIONS} million known uuids: ${(bytes / total).toFixed(1)} bytes each, ${resident_mb} MB resident; claims/s: ${filled} while filling in order, then ${random} random, ${ordered} time-ordered, ${repeated} known ones\n`,
)
rmSync(folder, { recursive: true, force: true })
