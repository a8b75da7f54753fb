/** `acme.json` in the data folder: accounts, the certificate, an order under way and the latest attempts, with private keys. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../../json.ts'

const ACME_FILE = 'acme.json'

/** A certificate as its authority issued it, with its key. */
export type IssuedCertificate = {
  /** The authority's directory. */
  readonly directory: string
  /** The names that were ordered. */
  readonly domains: readonly string[]
  /** PEM, the own certificate first. */
  readonly chain: string
  /** PEM. */
  readonly key: string
}

/** An order that the authority has, and the key of its certificate: the next start goes on with it. */
export type OpenOrder = Pick<IssuedCertificate, 'directory' | 'domains' | 'key'> & {
  readonly url: string
}

type AcmeState = {
  /** The key of the account at each authority, in PEM, by its directory. */
  readonly account_keys: Readonly<Record<string, string>>
  readonly certificate: IssuedCertificate | null
  readonly order: OpenOrder | null
  /** Times of the latest orders as Unix milliseconds, oldest first. */
  readonly attempts: readonly number[]
  /** The reason of the last attempt's failure; null after a success. */
  readonly fault: string | null
}

const NOTHING: AcmeState = {
  account_keys: {},
  certificate: null,
  order: null,
  attempts: [],
  fault: null,
}

/** The file of one data folder. Its content is in memory; each change is on the disk before `change` returns. */
export class AcmeFile {
  readonly #path: string
  #state: AcmeState

  /**
   * Opens or begins the file. A damaged one is renamed, and `onDamage` is called with its new path: everything in it can be
   * obtained again.
   */
  constructor(data_dir: string, onDamage: (kept_as: string) => void) {
    this.#path = join(data_dir, ACME_FILE)
    const state = existsSync(this.#path) ? findAcmeState(data_dir) : NOTHING
    if (state === null) {
      const kept_as = `${this.#path}.damaged`
      renameSync(this.#path, kept_as)
      onDamage(kept_as)
    }
    this.#state = state ?? NOTHING
  }

  get state(): AcmeState {
    return this.#state
  }

  /** Replaces the file as a whole: after a crash it has the state before or the one after. */
  change(changed: Partial<AcmeState>): void {
    const state = { ...this.#state, ...changed }
    const fresh = `${this.#path}.new`
    const fd = openSync(fresh, 'w', 0o600)
    try {
      writeFileSync(fd, `${JSON.stringify({ version: 1, ...state }, null, 2)}\n`)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(fresh, this.#path)
    const folder = openSync(dirname(this.#path), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
    this.#state = state
  }
}

/** Reads the file of a data folder without changing anything; null when there is none, or none that can be read. */
export function findAcmeState(data_dir: string): AcmeState | null {
  try {
    const read: unknown = JSON.parse(readFileSync(join(data_dir, ACME_FILE), 'utf8'))
    return isAcmeState(read) ? read : null
  } catch {
    return null
  }
}

/** The same names, in any order. */
export function areSameNames(some: readonly string[], others: readonly string[]): boolean {
  const names = new Set(some)
  return names.size === new Set(others).size && others.every((name) => names.has(name))
}

/** Checks all members, since the file may have been edited by hand; the certificate itself is checked where it is loaded. */
function isAcmeState(read: unknown): read is AcmeState {
  if (!isObject(read) || read['version'] !== 1) return false
  const { account_keys, certificate, order, attempts, fault } = read
  return (
    isObject(account_keys) &&
    areTexts(Object.values(account_keys)) &&
    (certificate === null || isOrderedWith(certificate, ['directory', 'chain', 'key'])) &&
    (order === null || isOrderedWith(order, ['directory', 'url', 'key'])) &&
    Array.isArray(attempts) &&
    attempts.every((time) => Number.isFinite(time)) &&
    (fault === null || typeof fault === 'string')
  )
}

function isOrderedWith(value: unknown, texts: readonly string[]): boolean {
  return (
    isObject(value) &&
    areTexts(value['domains']) &&
    texts.every((name) => typeof value[name] === 'string')
  )
}

const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === 'string')
