/** Whose a distinct id is and what its person has, in 48 bytes: most events of very many persons need not know more. */

/** What an event that changes nobody has to know of its person. */
export type CachedSender = {
  readonly person_id: Uint8Array
  /** Which automatic properties the person has, as identity marks them. */
  readonly marks_low: number
  readonly marks_high: number
}

/** The person an entry is made from. */
type SenderEntry = Pick<CachedSender, 'marks_low' | 'marks_high'> & { readonly id: Uint8Array }

/** Entries, 25 MB together. They are allocated with the first one, which small installations never make. */
const ENTRIES = 1 << 19
/** An entry may stand in any of these places; when all are taken, one of them is. */
const PLACES = 4

/** An entry in 32-bit words: hash of the id, person, marks, and the count of its person's group (0 for none). */
const WORDS = 12
const PERSON = 4
const MARKS_LOW = 8
const MARKS_HIGH = 9
const COUNT = 10

/** Persons whose changes are counted together: a change makes the entries of so many other persons useless too. */
const GROUPS = 1 << 16

/**
 * Says nothing rather than anything out of date: a person's entries hold until it is changed, an id's until it moves.
 * Ids are told apart by 128 bits of SHA-1 over them and a secret, so that nobody can make two of them alike.
 */
export class SenderCache {
  readonly #secret = crypto.randomUUID()
  readonly #hash = new Uint32Array(5)
  readonly #hash_bytes = new Uint8Array(this.#hash.buffer)
  /** How often a person of each group was changed, and 1. */
  readonly #counts = new Uint32Array(GROUPS).fill(1)
  readonly #entries: number
  #words = new Uint32Array(0)
  #bytes = new Uint8Array(0)

  constructor(entries = ENTRIES) {
    this.#entries = entries
  }

  /** `id_key` is `project:distinct id`. */
  find(id_key: string): CachedSender | null {
    if (this.#words.length === 0) return null
    const at = this.#seek(id_key)
    if (at === -1) return null
    const words = this.#words
    const start = (at + PERSON) * 4
    const person_id = this.#bytes.slice(start, start + 16)
    if (words[at + COUNT] !== this.#counts[groupOf(person_id)]) return null
    return {
      person_id,
      marks_low: words[at + MARKS_LOW] ?? 0,
      marks_high: words[at + MARKS_HIGH] ?? 0,
    }
  }

  /** From now on this id is known to be this person's, who has what its marks say. */
  note(id_key: string, person: SenderEntry): void {
    if (this.#words.length === 0) this.#allocate()
    const found = this.#seek(id_key)
    const at = found === -1 ? this.#placeFor() : found
    const words = this.#words
    words.set(this.#hash.subarray(0, PERSON), at)
    this.#bytes.set(person.id, (at + PERSON) * 4)
    words[at + MARKS_LOW] = person.marks_low
    words[at + MARKS_HIGH] = person.marks_high
    words[at + COUNT] = this.#counts[groupOf(person.id)] ?? 0
  }

  /** This person is not what it was. */
  invalidate(person_id: Uint8Array): void {
    const group = groupOf(person_id)
    this.#counts[group] = (this.#counts[group] ?? 0) + 1
  }

  /** This id may be somebody else's. */
  forget(id_key: string): void {
    if (this.#words.length === 0) return
    const at = this.#seek(id_key)
    if (at !== -1) this.#words[at + COUNT] = 0
  }

  clear(): void {
    this.#words.fill(0)
  }

  #allocate(): void {
    this.#words = new Uint32Array(this.#entries * WORDS)
    this.#bytes = new Uint8Array(this.#words.buffer)
  }

  /** Where the entry of an id is; -1 without one. Leaves the id's hash behind. */
  #seek(id_key: string): number {
    Bun.SHA1.hash(this.#secret + id_key, this.#hash_bytes)
    const [first = 0, second, third, fourth] = this.#hash
    const words = this.#words
    for (let place = 0; place < PLACES; place += 1) {
      const at = this.#placeOf(first, place)
      if (
        words[at] === first &&
        words[at + 1] === second &&
        words[at + 2] === third &&
        words[at + 3] === fourth &&
        words[at + COUNT] !== 0
      ) {
        return at
      }
    }
    return -1
  }

  /** A place for the id that was sought last: a free one, or any. */
  #placeFor(): number {
    const [first = 0, second = 0] = this.#hash
    for (let place = 0; place < PLACES; place += 1) {
      const at = this.#placeOf(first, place)
      if (this.#words[at + COUNT] === 0) return at
    }
    return this.#placeOf(first, second % PLACES)
  }

  #placeOf(hash: number, place: number): number {
    return ((hash + place) % this.#entries) * WORDS
  }
}

/** The last bytes are the random ones in ids of every kind. */
function groupOf(person_id: Uint8Array): number {
  return ((person_id[14] ?? 0) << 8) | (person_id[15] ?? 0)
}
