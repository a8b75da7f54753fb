/** Passwords: argon2id off the main thread, two at a time, stored with the address that its user logs in with. */
import { eq } from 'drizzle-orm'
import { Refusal } from '../../errors.ts'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { passwords } from '../tables.ts'

/** 19 MiB and 2 passes take 48 ms; the default of 64 MiB takes 209 ms and is no better against guessing online. */
const ARGON2 = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const
/** Hashes computed at the same time: more would take the processor from events, and 19 MiB each. */
const HASHING_MAX = 2
/** Hashes that wait, about 1.2 s of work; further ones are refused. */
const WAITING_MAX = 50
/**
 * New hashes for one user, or by the invites of one, at the same time: more would keep others from logging in. A team of ten
 * joins at once; its hashes take a quarter of a second.
 */
const OF_ONE_MAX = 10
const RETRY_AFTER_S = 2

const LENGTH_MIN = 10
const LETTERS_MIN = 5

/** The hash of no password, verified for unknown addresses so that they take as long as known ones. */
const HASH_OF_NOTHING =
  '$argon2id$v=19$m=19456,t=2,p=1$rLQhkrOBzFO7xOuv7o2VE3OzAO1vzi7wUl9d7UuIqrA$+JlNIu3DU2VnMYTkuNOKwU7AaflqAi9QMrCeERqgK+A'

/** A semaphore: `HASHING_MAX` pieces of work at a time, in order of arrival. */
class HashQueue {
  #running = 0
  readonly #waiting: (() => void)[] = []
  readonly #counts = new Map<string, number>()

  /** Runs the work of an owner, who may have `OF_ONE_MAX` here. Refuses (`throttled`) beyond that. */
  async runFor<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    const count = this.#counts.get(owner) ?? 0
    if (count >= OF_ONE_MAX) throw tooMany()
    this.#counts.set(owner, count + 1)
    try {
      return await this.run(work)
    } finally {
      const rest = (this.#counts.get(owner) ?? 1) - 1
      if (rest === 0) this.#counts.delete(owner)
      else this.#counts.set(owner, rest)
    }
  }

  /** Runs the work when a slot is free. Refuses (`throttled`) beyond `WAITING_MAX`. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= HASHING_MAX) await this.#wait()
    else this.#running += 1
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) throw tooMany()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }
}

function tooMany(): Refusal {
  const detail = 'Too many people are logging in at this moment. Try again soon.'
  return new Refusal('throttled', detail, { retry_after_s: RETRY_AFTER_S })
}

/** One queue for the whole process, since all hashes share its processor and memory. */
const queue = new HashQueue()

/**
 * Hashes a new password. Refuses one that is short, of few letters, or the address itself (`attr` is `password`), and too many
 * at once for an `owner`: by default the address, for an invite the member who made it, since a newcomer types any address.
 */
export async function hashPassword(
  password: string,
  email: string,
  owner: string = email,
): Promise<string> {
  const text = normalize(password)
  requireStrength(text, email)
  return queue.runFor(owner, () => Bun.password.hash(text, ARGON2))
}

/** Finds the user who logs in with this address and password; null if either is wrong, after the same time. */
export async function findUserByPassword(
  db: ControlDB,
  email: string,
  password: string,
): Promise<number | null> {
  const stored = findPassword(db, email)
  const hash = stored?.hash ?? HASH_OF_NOTHING
  const is_right = await queue.run(() => Bun.password.verify(normalize(password), hash))
  // It may have been changed meanwhile, which ended all sessions: a guesser's must not begin after that.
  const is_current = findPassword(db, email)?.hash === stored?.hash
  return is_right && is_current && stored !== null ? stored.user_id : null
}

/** The address that a user logs in with; null without a password. */
export function findLoginEmail(db: ControlDB, user_id: number): string | null {
  const its = eq(passwords.user_id, user_id)
  return db.select().from(passwords).where(its).get()?.email ?? null
}

/** The user who logs in with an address; null if there is none. */
export function findLoginUser(db: ControlDB, email: string): number | null {
  return findPassword(db, email)?.user_id ?? null
}

/** Whether any user has a password. */
export function hasPasswords(db: ControlDB): boolean {
  return db.select({ id: passwords.user_id }).from(passwords).limit(1).get() !== undefined
}

/** Stores a user's password. Refuses an address by which another user logs in. */
export function storePassword(
  db: ControlDB,
  {
    user_id,
    email,
    hash,
  }: { readonly user_id: number; readonly email: string; readonly hash: string },
  now: Date,
): void {
  const holder = findPassword(db, email)
  if (holder !== null && holder.user_id !== user_id) {
    const detail = 'A user with this email address already exists.'
    throw new Refusal('unique', detail, { attr: 'email' })
  }
  const row = { email: email.toLowerCase(), hash, changed_at: now }
  db.insert(passwords)
    .values({ user_id, ...row })
    .onConflictDoUpdate({ target: passwords.user_id, set: row })
    .run()
}

function findPassword(db: ControlDB, email: string) {
  const its = eq(passwords.email, email.toLowerCase())
  return db.select().from(passwords).where(its).get() ?? null
}

function requireStrength(password: string, email: string): void {
  const letters = new Set(password.toLowerCase())
  if (Array.from(password).length < LENGTH_MIN) {
    throw tooWeak(`A password has at least ${LENGTH_MIN} characters.`)
  }
  if (letters.size < LETTERS_MIN) {
    throw tooWeak(`A password has at least ${LETTERS_MIN} different characters.`)
  }
  if (password.toLowerCase() === email.toLowerCase()) {
    throw tooWeak('A password is not the email address.')
  }
}

const tooWeak = (detail: string): Refusal =>
  new Refusal('invalid_input', detail, { attr: 'password' })

/** One form of a text: keyboards type accents as one character or as two. */
const normalize = (password: string): string => password.toWellFormed().normalize('NFC')
