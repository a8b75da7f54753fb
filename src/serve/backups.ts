/** Makes backups by itself: when one is due, a child process of this executable runs `tidemark backup --to`. */
import { Cron } from 'croner'
import type { Config } from '../config.ts'
import type { BackupState } from '../http/app-context.ts'
import type { Log } from '../logs.ts'
import { killWhenStalled } from '../storage/process/kill-stalled.ts'
import { lowerPriority } from '../storage/process/lower-priority.ts'
import { ownCommand, tryStart } from '../storage/process/spawn-self.ts'
import { HOUR_MS } from '../time.ts'

/** A failed backup is tried again after this time, or when the next one is due. */
const RETRY_MS = 600_000
/** The clock is looked at this often: it may be set, and the machine may sleep. */
const LOOK_MS = 60_000
/** A child that used next to no processor time for this long is killed, so that the next backup is made: an upload over a slow line waits too. */
const STALLED_MS = HOUR_MS
/** Characters of a child's error that are logged. */
const FAULT_LENGTH_MAX = 2000

type ChildOutput = { readonly exit_code: number; readonly out: string; readonly err: string }

/** Opens the schedule without starting it; null while no store is set. */
export function openBackups(
  config: Config,
  log: Log,
  now: () => Date,
  look_ms = LOOK_MS,
): BackupSchedule | null {
  return config.backup_to === null ? null : new BackupSchedule(config, log, now, look_ms)
}

/** Runs one backup after the other, on the schedule of the settings. */
class BackupSchedule {
  readonly #config: Config
  readonly #log: Log
  readonly #now: () => Date
  readonly #look_ms: number
  readonly #stop = Promise.withResolvers<void>()
  readonly #counts = { done: 0, failed: 0 }
  #is_stopped = false
  #child: Bun.Subprocess | null = null
  #made_at: Date | null = null
  /** The due time of the first backup that the store does not have. */
  #due_at: Date | null = null
  #running: Promise<void> = Promise.resolve()

  constructor(config: Config, log: Log, now: () => Date, look_ms: number) {
    this.#config = config
    this.#log = log
    this.#now = now
    this.#look_ms = look_ms
  }

  get state(): BackupState {
    return { ...this.#counts, made_at: this.#made_at, due_at: this.#due_at }
  }

  /** Asks the store for its newest whole backup, and makes the next ones. */
  start(): void {
    this.#running = this.#keepBackingUp()
  }

  /** Ends a running backup, which the next start begins again. */
  async close(): Promise<void> {
    this.#is_stopped = true
    this.#stop.resolve()
    // A frozen process takes no other signal.
    this.#child?.kill('SIGKILL')
    await this.#running
  }

  async #keepBackingUp(): Promise<void> {
    this.#made_at = await this.#findNewest()
    let retry_at = 0
    while (!this.#is_stopped) {
      const now = this.#now()
      // A clock that was ahead is set back: nothing waits until it is there again.
      retry_at = Math.min(retry_at, now.getTime() + RETRY_MS)
      if (this.#made_at !== null) this.#made_at = earlierOf(this.#made_at, now)
      // The store's first one is due when the server starts.
      this.#due_at =
        this.#made_at === null
          ? earlierOf(this.#due_at ?? now, now)
          : findNextTime(this.#config.backup_every, this.#made_at, now)
      const wait_ms = Math.max(this.#due_at.getTime(), retry_at) - now.getTime()
      if (wait_ms > 0) {
        await this.#sleep(Math.min(wait_ms, this.#look_ms))
        continue
      }
      const made_at = await this.#backUp()
      if (made_at === null) retry_at = this.#now().getTime() + RETRY_MS
      else this.#made_at = made_at
    }
  }

  async #sleep(ms: number): Promise<void> {
    const slept = Promise.withResolvers<void>()
    const timer = setTimeout(slept.resolve, ms)
    await Promise.race([slept.promise, this.#stop.promise])
    clearTimeout(timer)
  }

  /** The time of the newest whole backup; null when there is none, or the store cannot be read now. */
  async #findNewest(): Promise<Date | null> {
    const { exit_code, out, err } = await this.#run(['backup', 'list', '--json', ...this.#to()])
    if (this.#is_stopped) return null
    if (exit_code !== 0) {
      this.#log.error({ why: err.slice(0, FAULT_LENGTH_MAX) }, 'cannot list backups')
      return null
    }
    const { backups }: { backups: { made_at: string; missing: number }[] } = JSON.parse(out)
    const newest = backups.findLast(({ missing }) => missing === 0)
    return newest === undefined ? null : new Date(newest.made_at)
  }

  /** Resolves with the time of the backup; null when it failed, which is logged and counted. */
  async #backUp(): Promise<Date | null> {
    const { data_dir, backup_keep } = this.#config
    const keep = `${backup_keep.number}${backup_keep.unit === 'days' ? 'd' : ''}`
    const options = ['--json', '--data-dir', data_dir, '--keep', keep]
    const { exit_code, out, err } = await this.#run(['backup', ...options, ...this.#to()])
    if (this.#is_stopped) return null
    if (exit_code !== 0) {
      this.#counts.failed += 1
      this.#log.error({ why: err.slice(0, FAULT_LENGTH_MAX) }, 'backup failed')
      return null
    }
    this.#counts.done += 1
    const made: { made_at: string } = JSON.parse(out)
    this.#log.info(made, 'backup made')
    return new Date(made.made_at)
  }

  #to(): readonly string[] {
    const { backup_to } = this.#config
    if (backup_to === null) return []
    const { kind } = backup_to
    return [
      '--to',
      kind === 'folder' ? backup_to.folder : `s3://${backup_to.bucket}/${backup_to.prefix}`,
    ]
  }

  /** Keys of a bucket reach the child by the environment alone: arguments are in the process list. */
  async #run(args: readonly string[]): Promise<ChildOutput> {
    const child = tryStart(() =>
      Bun.spawn([...ownCommand(args)], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' }),
    )
    if (child instanceof Error) return { exit_code: 1, out: '', err: child.message }
    this.#child = child
    if (this.#is_stopped) child.kill('SIGKILL')
    lowerPriority(child.pid)
    const stopWatching = killWhenStalled(child, STALLED_MS)
    const [out, err, exit_code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    stopWatching()
    this.#child = null
    return { exit_code, out, err: err.trim() }
  }
}

const earlierOf = (time: Date, other: Date): Date => (time < other ? time : other)

/**
 * The time of the backup after the one of `made_at`: hours later, or the next time of a cron expression in UTC. It may
 * be past. A newest backup from the future, made by a clock that was wrong, counts as made now.
 */
export function findNextTime(every: string, made_at: Date, now: Date): Date {
  const last = earlierOf(made_at, now)
  if (/^\d+$/.test(every)) return new Date(last.getTime() + Number(every) * HOUR_MS)
  const next = new Cron(every, { paused: true, timezone: 'UTC' }).nextRun(last)
  return next ?? new Date(8.64e15)
}
