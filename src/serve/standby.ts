/** The server process of a standby: it follows its primary, and answers nothing but how far it is, until it takes over. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createStandbyApp } from '../app.ts'
import { openCertificates } from '../certificates/open-certificates.ts'
import { type Config, ConfigError } from '../config.ts'
import { Refusal } from '../errors.ts'
import { answerRefusal } from '../http/answers/refusals.ts'
import { standbyHealthEndpoints } from '../http/standby/standby-health.ts'
import type { Log } from '../logs.ts'
import { makeSessionToken } from '../projects/keys/secrets.ts'
import { beginFollowing, Follower } from '../standby/follower.ts'
import { Primary } from '../standby/primary.ts'
import { findState } from '../standby/state.ts'
import { takeOver } from '../standby/take-over.ts'
import { temporaryFolder } from '../storage/files/parquet.ts'
import { takeLock } from '../storage/process/lock.ts'
import { requireTrustedSqlite } from '../storage/sqlite/sqlite.ts'
import { createTimings } from '../threads/timings.ts'
import { type ListeningServer, listen, type Server } from './listening.ts'

/** A running standby. */
export type Standby = Pick<Server, 'stop' | 'url'> & {
  /** Resolves when a server is to be started in its place: it has taken over. */
  readonly replaced: Promise<void>
}

/**
 * Whether a server with these settings follows a primary. Finishes a takeover that was cut off. A folder that has taken
 * over never follows again, whatever the settings say.
 */
export function isStandby({ replica_of, data_dir }: Config, log: Log): boolean {
  const phase = findState(data_dir)?.phase ?? null
  if (phase === 'taking_over') takeOver(data_dir)
  if (phase === 'following' && replica_of === null) {
    throw new ConfigError(
      `${data_dir} is a standby's: "tidemark takeover" makes it a server's, TIDEMARK_REPLICA_OF lets it follow`,
    )
  }
  if (replica_of === null || phase === 'following') return phase === 'following'
  if (phase === null) return true
  log.warn({ data_dir, replica_of }, 'this server has taken over: it ignores TIDEMARK_REPLICA_OF')
  return false
}

const now = (): Date => new Date()

/** Reads the settings of a standby. Throws when one is missing, or when the folder has other data. */
function readFollowing({ data_dir, replica_of, replica_key }: Config) {
  if (replica_of === null || replica_key === null) {
    throw new ConfigError(
      'TIDEMARK_REPLICA_OF needs TIDEMARK_REPLICA_KEY, the same as at that server',
    )
  }
  if (findState(data_dir) === null && existsSync(join(data_dir, 'events.db'))) {
    throw new ConfigError(`${data_dir} has data of its own: a standby begins with an empty folder`)
  }
  return { data_dir, url: replica_of, key: replica_key }
}

/** Starts a standby of the server at `replica_of`. */
export async function openStandby(
  config: Config,
  log: Log,
  parts: AsyncDisposableStack,
): Promise<Standby> {
  const { data_dir, url, key } = readFollowing(config)
  const lock = takeLock(data_dir, process.pid, new Date())
  parts.defer(() => lock.release())
  // Its copies are compared with the primary's.
  lock.noteChecked()
  requireTrustedSqlite()
  // Parts of files that were received when it was killed: what is asked for next may be others.
  rmSync(temporaryFolder(data_dir), { recursive: true, force: true })
  const state = findState(data_dir) ?? beginFollowing()
  const primary = new Primary({ url, key, id: state.id })
  const follower = new Follower({ data_dir, primary, log, now }, state)
  parts.defer(() => follower.close())

  const operator_key = makeSessionToken()
  const replaced = Promise.withResolvers<void>()
  const stopping = { is_stopping: false }
  const certificates = await openCertificates(config, { log, now, may_order: false }, parts)
  const own = standbyHealthEndpoints({
    certificate: certificates,
    now,
    follower,
    primary,
    operator_key,
    metrics_networks: config.metrics_networks,
    isStopping: () => stopping.is_stopping,
    publicUrl: () => http.url,
    async takeOver() {
      if (!follower.is_whole) {
        throw new Refusal('storage_unavailable', 'There is no whole copy of the primary yet.')
      }
      await follower.close()
      const taken = takeOver(data_dir)
      log.warn({ ...taken, primary: primary.url }, 'takes over')
      replaced.resolve()
      return taken
    },
  })
  const detail = `This server is a standby of ${primary.url}, which answers.`
  const others = (): Response =>
    answerRefusal(new Refusal('ask_home', detail), { Location: primary.url })
  const app = createStandbyApp({ log, timings: createTimings() }, own, others)
  const http: ListeningServer = listen(config, app, { certificates, log })
  follower.start()
  lock.announce({ url: http.url, local_url: http.local_url, operator_key })
  log.info({ url: http.url, primary: primary.url, pid: process.pid, data_dir }, 'listening')
  return {
    url: http.url,
    replaced: replaced.promise,
    async stop() {
      stopping.is_stopping = true
      await http.stop()
      await parts.disposeAsync()
    },
  }
}
