/** Persons in memory: the lately used ones, found by their key or by any of their distinct ids. */
import { type KnownSender, KnownSenders } from './known-senders.ts'
import type { Person } from './person-store.ts'
import { RecentCache } from './recent-cache.ts'

/** Persons kept, about 1 kB each. */
const PERSONS_MAX = 20_000
/** Distinct ids kept, about 200 B each, and a person that nobody else keeps any more. */
const DISTINCT_IDS_MAX = 50_000
/** Distinct ids kept that are nobody's, about 300 B each. */
const STRANGERS_MAX = 50_000

/**
 * There is one object per person, or changes would get lost: `is_cached` says whether an object is still the one.
 * A hit by distinct id reads that object and nothing else, since memory is what such a look-up costs.
 */
export class PersonCache {
  readonly #ids = new RecentCache<Person>(DISTINCT_IDS_MAX)
  readonly #persons = new Map<string, Person>()
  readonly #senders = new KnownSenders()
  readonly #strangers = new RecentCache<Uint8Array>(STRANGERS_MAX)
  readonly #persons_max: number
  #hand = this.#persons.values()

  constructor(persons_max = PERSONS_MAX) {
    this.#persons_max = persons_max
  }

  /** What was noted of a sender; it needs no look at the person itself, which may have been forgotten. */
  findSender(id_key: string): KnownSender | null {
    return this.#senders.find(id_key)
  }

  /** Notes what there is to know of a sender, once there are more persons than have room. */
  noteSender(id_key: string, person: Person): void {
    if (person.is_cached && this.#persons.size >= this.#persons_max) {
      this.#senders.note(id_key, person)
    }
  }

  /** What the events of a distinct id that is nobody's are stored under; null when it may be somebody's. */
  findStranger(id_key: string): Uint8Array | null {
    return this.#strangers.get(id_key) ?? null
  }

  /** This distinct id was looked for and is nobody's; without a profile it stays so until somebody is given it. */
  noteStranger(id_key: string, stored_under: Uint8Array): void {
    this.#strangers.set(id_key, stored_under)
  }

  /** A person changes: what was noted of it holds no longer. */
  distrust(person: Person): void {
    this.#senders.distrust(person.id)
  }

  /** `id_key` is `project:distinct id`. */
  findById(id_key: string): Person | undefined {
    const person = this.#ids.get(id_key)
    if (person === undefined || !person.is_cached) return undefined
    person.was_used = true
    return person
  }

  findByKey(key: string): Person | undefined {
    return this.#persons.get(key)
  }

  add(person: Person): void {
    if (!this.#persons.has(person.key) && this.#persons.size >= this.#persons_max) this.#forgetOne()
    const before = this.#persons.get(person.key)
    if (before !== undefined && before !== person) before.is_cached = false
    this.#persons.set(person.key, person)
    person.is_cached = true
    // Who was just found is about to be changed: it must not be forgotten for the next one found.
    person.was_used = true
  }

  /** From now on this distinct id leads to this person, which must have been added. */
  bind(id_key: string, person: Person): void {
    this.#ids.set(id_key, person)
    this.#senders.forget(id_key)
    this.#strangers.delete(id_key)
  }

  remove(person: Person): void {
    person.is_cached = false
    this.#persons.delete(person.key)
  }

  clear(): void {
    for (const person of this.#persons.values()) person.is_cached = false
    this.#persons.clear()
    this.#ids.clear()
    this.#senders.clear()
    this.#strangers.clear()
    this.#hand = this.#persons.values()
  }

  /** A hand goes round; who was used since it last came by stays. Ends within two rounds. */
  #forgetOne(): void {
    for (;;) {
      const next = this.#hand.next()
      if (next.done === true) {
        this.#hand = this.#persons.values()
        continue
      }
      const person = next.value
      if (!person.was_used) {
        this.remove(person)
        return
      }
      person.was_used = false
    }
  }
}
