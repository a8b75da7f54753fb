/** Certificates from an authority (ACME): the first one, and the next ones in time. */
import { KeyObject } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { errorMessage } from '../../error-message.ts'
import {
  type Certificate,
  type CertificateSource,
  type CertificateState,
  readCertificate,
} from '../certificate.ts'
import { type AcmeFile, areSameNames } from './acme-file.ts'
import { type OrderOptions, obtainCertificate } from './order.ts'
import { findAllowedTime, findRenewalTime, findRetryDelay, listRecent } from './schedule.ts'
import { AuthorityBusy } from './transport.ts'

/** A minute is exact enough for what lasts days. */
const LOOK_MS = 60_000
/** Characters of a fault that are kept. */
const FAULT_LENGTH_MAX = 500

type AcmeNeeds = {
  readonly options: OrderOptions
  readonly file: AcmeFile
  readonly log: Logger
  readonly now: () => Date
  /** False for a standby: the names are its primary's. */
  readonly may_order: boolean
  /** Time between two looks at the clock, which may be set while the machine sleeps; `LOOK_MS` without one. */
  readonly look_ms?: number
}

/** Opens the source: with the stored certificate, or with a temporary one until the first is there. */
export async function openAcme(needs: AcmeNeeds): Promise<AcmeCertificates> {
  const stored = findStored(needs)
  const served = stored ?? (await makeTemporary(needs.options.domains[0] ?? ''))
  return new AcmeCertificates(needs, { served, is_temporary: stored === null })
}

class AcmeCertificates implements CertificateSource {
  readonly #needs: AcmeNeeds
  readonly #stop = new AbortController()
  readonly #orders = { done: 0, failed: 0 }
  #served: Certificate
  #is_temporary: boolean
  #running: Promise<void> = Promise.resolve()

  constructor(
    needs: AcmeNeeds,
    first: { readonly served: Certificate; readonly is_temporary: boolean },
  ) {
    this.#needs = needs
    this.#served = first.served
    this.#is_temporary = first.is_temporary
  }

  read(): Certificate {
    return this.#served
  }

  watch(onChanged: (changed: Certificate) => void): () => void {
    const { may_order, options, log } = this.#needs
    const { directory, domains } = options
    if (this.#is_temporary) {
      const until = may_order
        ? 'clients refuse the connection until the first one is there, which is ordered now'
        : 'a standby orders none before it takes over'
      log.warn({ directory, domains }, `there is no certificate yet: ${until}`)
    }
    if (may_order) this.#running = this.#keepRenewing(onChanged)
    return () => this.#stop.abort()
  }

  state(): CertificateState {
    const certificate = this.#is_temporary ? null : this.#served
    const { fault } = this.#needs.file.state
    return { certificate, is_ordered: true, fault, orders: this.#orders }
  }

  /** Breaks an order off, which the next start goes on with. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #keepRenewing(onChanged: (changed: Certificate) => void): Promise<void> {
    const { file, log, now } = this.#needs
    let due_ms = this.#findDueTime()
    let failures = 0
    while (!this.#stop.signal.aborted) {
      const allowed_ms = findAllowedTime(file.state.attempts, now()).getTime()
      if (allowed_ms > Math.max(due_ms, now().getTime())) {
        log.warn({ next_at: new Date(allowed_ms) }, 'too many orders within an hour: waits')
      }
      await this.#sleepUntil(Math.max(due_ms, allowed_ms))
      if (this.#stop.signal.aborted) return
      try {
        await this.#renew(onChanged)
        failures = 0
        due_ms = this.#findDueTime()
      } catch (error) {
        if (this.#stop.signal.aborted) return
        failures += 1
        const asked_ms = error instanceof AuthorityBusy ? error.wait_ms : 0
        due_ms = now().getTime() + findRetryDelay(failures, asked_ms, Math.random())
        this.#noteFailure(error, new Date(due_ms))
      }
    }
  }

  async #renew(onChanged: (changed: Certificate) => void): Promise<void> {
    const { options, file, log, now } = this.#needs
    const countAttempt = (): void => {
      const { attempts } = file.state
      file.change({ attempts: [...listRecent(attempts, now()), now().getTime()] })
    }
    await obtainCertificate(options, { file, signal: this.#stop.signal, countAttempt })
    const stored = findStored(this.#needs)
    if (stored === null) throw new Error('the certificate cannot be read')
    onChanged(stored)
    this.#served = stored
    this.#is_temporary = false
    this.#orders.done += 1
    const { valid_until } = stored
    log.info({ domains: options.domains, valid_until }, 'obtained a certificate')
  }

  /** The server goes on with the certificate that it has. */
  #noteFailure(error: unknown, next_at: Date): void {
    const { options, file, log, now } = this.#needs
    const { directory, domains } = options
    this.#orders.failed += 1
    const fault = errorMessage(error).slice(0, FAULT_LENGTH_MAX)
    const fields = { directory, domains, fault, next_at }
    const { valid_until } = this.#served
    if (!this.#is_temporary && valid_until > now()) {
      log.warn({ ...fields, valid_until }, 'the next certificate could not be obtained')
    } else {
      log.error(fields, 'no certificate could be obtained: clients refuse the connection')
    }
    try {
      file.change({ fault })
    } catch (err) {
      log.error({ err }, 'cannot note why')
    }
  }

  /** The time of the next order, ms; 0 (at once) without a certificate of these names by this authority. */
  #findDueTime(): number {
    const { options, file } = this.#needs
    const { certificate } = file.state
    if (this.#is_temporary || certificate === null) return 0
    const { directory, domains } = options
    if (certificate.directory !== directory || !areSameNames(certificate.domains, domains)) return 0
    return findRenewalTime(this.#served).getTime()
  }

  async #sleepUntil(time_ms: number): Promise<void> {
    const { signal } = this.#stop
    const { now, look_ms = LOOK_MS } = this.#needs
    for (;;) {
      const left_ms = time_ms - now().getTime()
      if (left_ms <= 0 || signal.aborted) return
      await setTimeout(Math.min(left_ms, look_ms), undefined, { signal }).catch(() => undefined)
    }
  }
}

/** The stored certificate; null when there is none that can be served. */
function findStored({ file, log }: Pick<AcmeNeeds, 'file' | 'log'>): Certificate | null {
  const { certificate } = file.state
  if (certificate === null) return null
  try {
    const { chain: cert, key } = certificate
    return readCertificate({ cert, key }, { cert: 'its chain', key: 'its key' })
  } catch (err) {
    log.error({ err }, 'the stored certificate cannot be used: another one is ordered')
    return null
  }
}

/**
 * Makes a self-signed certificate, which no client accepts. With it the server can listen and answer clients that do
 * not check certificates.
 */
async function makeTemporary(domain: string): Promise<Certificate> {
  const { X509CertificateGenerator } = await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const now = new Date()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    signingAlgorithm: algorithm,
    name: `CN=${domain}`,
    notBefore: now,
    notAfter: now,
  })
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  return { cert: certificate.toString('pem'), key, valid_from: now, valid_until: now }
}
