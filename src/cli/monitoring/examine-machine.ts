/** The checks of `doctor` besides the data: disk, memory, clock, limits, permissions, and the server that runs on the folder with its certificate. */
import { existsSync, lstatSync, readFileSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { MIB } from '../../bytes.ts'
import { findRunning, type LockHolder } from '../../storage/process/lock.ts'
import { listPaths } from '../../storage/process/private-folder.ts'
import { openReader } from '../../storage/sqlite/sqlite.ts'
import { examineCertificate } from './examine-certificate.ts'
import type { MachineFinding } from './machine-finding.ts'

const DISK_FREE_MIN_BYTES = 256 * MIB
const DISK_FREE_SHARE = 0.1
/** The default of TIDEMARK_QUERY_MEMORY_MB for queries, and the memory of the rest of the server. */
const MEMORY_MIN_BYTES = 1536 * MIB
const OPEN_FILES_MIN = 1024
/** The last stored event may be this far ahead of the clock. */
const CLOCK_SLACK_MS = 60_000
const ANSWER_TIMEOUT_MS = 5000
const GROUP_AND_OTHERS = 0o077

/** Examines a data folder's surroundings. Changes nothing. */
export async function examineMachine(
  data_dir: string,
  now: Date,
): Promise<readonly MachineFinding[]> {
  const holder = findRunning(data_dir)
  return [
    ...examineDisk(data_dir),
    ...examineMemory(),
    ...examineClock(data_dir, now),
    ...examineLimits(holder),
    ...examinePermissions(data_dir),
    ...(await examineServer(holder)),
    ...(await examineCertificate(data_dir, holder?.local_url ?? null, now)),
  ]
}

function examineDisk(data_dir: string): readonly MachineFinding[] {
  const { bavail, blocks, bsize, ffree, files } = statfsSync(data_dir)
  const free_bytes = bavail * bsize
  const findings: MachineFinding[] = []
  const is_full = free_bytes < DISK_FREE_MIN_BYTES
  if (is_full || free_bytes < DISK_FREE_SHARE * blocks * bsize) {
    findings.push({
      subject: 'disk',
      severity: is_full ? 'fault' : 'warning',
      fault: `has ${inMiB(free_bytes)} MiB free of ${inMiB(blocks * bsize)}`,
      advice:
        'Enlarge it, move backups away, or set a retention (tidemark project retention). When it is full, events are refused with 503 and SDKs send them again.',
    })
  }
  if (files > 0 && ffree < 1000) {
    findings.push({
      subject: 'disk',
      severity: 'fault',
      fault: `has room for ${ffree} more files only`,
      advice: 'Delete files that other programs left, or make a file system with more inodes.',
    })
  }
  return findings
}

function examineMemory(): readonly MachineFinding[] {
  const bytes = Math.min(totalmem(), groupLimit() ?? Number.POSITIVE_INFINITY)
  if (bytes >= MEMORY_MIN_BYTES) return []
  return [
    {
      subject: 'memory',
      severity: 'warning',
      fault: `of ${inMiB(bytes)} MiB is less than queries may use by default`,
      advice: 'Set TIDEMARK_QUERY_MEMORY_MB to half of it, so that the system ends no process.',
    },
  ]
}

/** The memory limit of this process's control group (containers, systemd); null without one. */
function groupLimit(): number | null {
  for (const path of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes']) {
    const bytes = existsSync(path) ? Number(readFileSync(path, 'utf8')) : Number.NaN
    if (Number.isFinite(bytes)) return bytes
  }
  return null
}

/** A clock that was set back gives new events earlier times than the stored ones have. */
function examineClock(data_dir: string, now: Date): readonly MachineFinding[] {
  const path = join(data_dir, 'events.db')
  if (!existsSync(path)) return []
  let newest_ms: number
  try {
    using db = openReader(path)
    const sql = 'select max(t) from (select created_at as t from events order by seq desc limit 1)'
    newest_ms = Number(db.query(sql).values()[0]?.[0] ?? 0) / 1000
  } catch {
    // The examination of the data reports an unreadable database.
    return []
  }
  const ahead_ms = newest_ms - now.getTime()
  if (ahead_ms <= CLOCK_SLACK_MS) return []
  return [
    {
      subject: 'clock',
      severity: 'fault',
      fault: `is ${Math.round(ahead_ms / 1000)} seconds behind the last stored event`,
      advice: 'Set it, and let it be kept by NTP (timedatectl set-ntp true).',
    },
  ]
}

/** The limits of the running server, or of this process when none runs. */
function examineLimits(holder: LockHolder | null): readonly MachineFinding[] {
  const path = `/proc/${holder?.pid ?? 'self'}/limits`
  if (!existsSync(path)) return []
  const limits = readFileSync(path, 'utf8').split('\n')
  const softLimit = (name: string): number => {
    const line = limits.find((one) => one.startsWith(name)) ?? ''
    const [text = 'unlimited'] = line.slice(name.length).trim().split(' ')
    return text === 'unlimited' || text === '' ? Number.POSITIVE_INFINITY : Number(text)
  }
  const findings: MachineFinding[] = []
  const open_files = softLimit('Max open files')
  if (open_files < OPEN_FILES_MIN) {
    findings.push({
      subject: 'limits',
      severity: 'warning',
      fault: `allow ${open_files} open files`,
      advice: `Allow at least ${OPEN_FILES_MIN} (LimitNOFILE= in the systemd unit, ulimit -n in a shell).`,
    })
  }
  if (Number.isFinite(softLimit('Max address space'))) {
    findings.push({
      subject: 'limits',
      severity: 'warning',
      fault: 'bound the address space',
      advice:
        'Take that limit away (LimitAS=, ulimit -v): it counts what is reserved, not what is used.',
    })
  }
  return findings
}

/** Finds files that other users of the machine may read. A server takes these rights away when it starts. */
function examinePermissions(data_dir: string): readonly MachineFinding[] {
  const own_id = process.getuid?.() ?? 0
  const open: string[] = []
  const foreign: string[] = []
  for (const path of [data_dir, ...listPaths(data_dir)]) {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink()) continue
    if ((stat.mode & GROUP_AND_OTHERS) !== 0) open.push(path)
    const is_of_disk = path === join(data_dir, 'lost+found')
    if (own_id !== 0 && stat.uid !== own_id && !is_of_disk) foreign.push(path)
  }
  const findings: MachineFinding[] = []
  if (open.length > 0) {
    findings.push({
      subject: 'permissions',
      severity: 'warning',
      fault: `let other users read ${open.length} files, first ${open[0]}`,
      advice: `chmod -R go= ${data_dir}`,
    })
  }
  if (foreign.length > 0) {
    findings.push({
      subject: 'permissions',
      severity: 'warning',
      fault: `belong to another user for ${foreign.length} files, first ${foreign[0]}`,
      advice: 'Run this command as the user that serves, or give that user the folder (chown -R).',
    })
  }
  return findings
}

async function examineServer(holder: LockHolder | null): Promise<readonly MachineFinding[]> {
  if (holder === null) return []
  if (holder.local_url === null) {
    return [
      {
        subject: 'server',
        severity: 'warning',
        fault: `(process ${holder.pid}) has been starting since ${holder.started_at}`,
        advice:
          'After a crash it checks its databases first, which takes minutes when they are large.',
      },
    ]
  }
  const answer = await fetch(`${holder.local_url}/_readyz`, {
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    // The certificate names the address that clients use, not that of this machine.
    tls: { rejectUnauthorized: false },
  }).catch(() => null)
  if (answer?.ok) return []
  const text = (await answer?.text().catch(() => '')) ?? ''
  if (answer?.status !== 503) {
    return [
      {
        subject: 'server',
        severity: 'fault',
        fault: `(process ${holder.pid}) does not answer on ${holder.local_url}`,
        advice:
          'Its log names the request that holds it. Restart it: what it has answered is stored.',
      },
    ]
  }
  return [
    {
      subject: 'server',
      severity: 'fault',
      fault: `is not ready: ${text}`,
      advice:
        'It stores events all the same unless it is stopping. Its log has more about the reason.',
    },
  ]
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / MIB)
}
