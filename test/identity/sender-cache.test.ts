/** Law: who remembers senders and reads few persons comes to the same persons as who reads every one of them. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { automaticOf } from '../../src/identity/automatic-properties.ts'
import { changePerson, runParts } from '../../src/identity/changes.ts'
import { MergeBudget } from '../../src/identity/merge-budget.ts'
import { resolvePerson } from '../../src/identity/resolve.ts'
import { EventLog } from '../../src/storage/log/event-log.ts'
import { EventRemovalList } from '../../src/storage/log/event-removals.ts'
import {
  PersonCache,
  type PersonProperties,
  PersonStore,
} from '../../src/storage/persons/person-store.ts'
import { limitOf } from '../long-tests.ts'
import { randomRuns } from '../random-runs.ts'

const LIMITS = { bytes_max: 10_000, properties_max: 1000, merges: new MergeBudget() }
const PROPERTIES: readonly PersonProperties[] = [
  {},
  { $browser: 'Chrome' },
  { $browser: 'Safari', $os: 'Linux' },
  { $browser: 'Edge', $os: 'Linux', $current_url: 'https://a.example/' },
  { $browser: 'Edge', utm_source: 'mail' },
  { $browser: 'Chrome', utm_source: 'ads', $app_version: '2' },
  { utm_source: null, $geoip_country_code: 'DE' },
]
const IDS = ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']

type Step =
  | {
      readonly kind: 'event'
      readonly id: string
      readonly told: number
      readonly set: PersonProperties
      readonly unset: readonly string[]
      readonly other: string | null
      readonly is_personless: boolean
    }
  | { readonly kind: 'split' | 'undo_merge' | 'delete'; readonly id: string }
  | { readonly kind: 'rollback'; readonly id: string; readonly other: string }

const anyId = fc.constantFrom(...IDS)
const plain = fc.record({
  kind: fc.constant('event' as const),
  id: anyId,
  told: fc.nat(PROPERTIES.length - 1),
  set: fc.constant({}),
  unset: fc.constant([]),
  other: fc.constant(null),
  is_personless: fc.constant(false),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: plain },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('event' as const),
      id: anyId,
      told: fc.nat(PROPERTIES.length - 1),
      set: fc.constantFrom<PersonProperties>(
        {},
        { plan: 'pro' },
        { $browser: 'Opera' },
        { utm_source: 'ads' },
      ),
      unset: fc.constantFrom<readonly string[]>(
        [],
        ['$browser'],
        ['$initial_os', 'plan'],
        ['utm_source'],
      ),
      other: fc.option(anyId),
      is_personless: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('split' as const, 'undo_merge' as const, 'delete' as const),
      id: anyId,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('rollback' as const), id: anyId, other: anyId }),
  },
)

const folder = mkdtempSync(join(tmpdir(), 'tidemark-senders-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A log of its own with persons, of which a given number has room in memory. */
class World {
  readonly log: EventLog
  readonly persons: PersonStore
  readonly #removals: EventRemovalList
  #number = 0
  /** Some persons get random ids: they are told apart by when they came up. */
  readonly #names = new Map<string, number>()

  constructor(name: string, persons_max: number) {
    this.log = new EventLog(join(folder, name))
    this.persons = new PersonStore(this.log, new PersonCache(persons_max))
    this.#removals = new EventRemovalList(this.log)
  }

  /** Takes a step for a project and says what came of it. */
  take(project_id: number, one: Step): unknown {
    if (one.kind === 'rollback') return this.#rollBack(project_id, one)
    let outcome: unknown
    this.log.transact(() => {
      outcome = one.kind === 'event' ? this.#send(project_id, one) : this.#change(project_id, one)
      this.persons.flush()
    })
    return outcome
  }

  #send(project_id: number, sent: Extract<Step, { kind: 'event' }>): unknown {
    this.#number += 1
    const told = PROPERTIES[sent.told] ?? {}
    const update = {
      set: sent.set,
      set_once: {},
      unset: sent.unset,
      automatic: automaticOf(told),
      is_about_person: false,
    }
    const merge =
      sent.other === null
        ? null
        : { other_id: sent.other, is_forced: true, makes_other_main: false }
    const { person_id, ...rest } = resolvePerson(
      this.persons,
      {
        project_id,
        distinct_id: sent.id,
        id_key: `${project_id}:${sent.id}`,
        timestamp: this.#number * 1_000_000,
        now: this.#number * 1_000_000,
        event_uuid: new Uint8Array(16).fill(this.#number),
        is_personless: sent.is_personless,
        update: sent.is_personless ? null : update,
        merge: sent.is_personless ? null : merge,
      },
      LIMITS,
    )
    return { ...rest, person: this.#nameOf(person_id) }
  }

  #change(project_id: number, change: { readonly kind: string; readonly id: string }): unknown {
    const person = this.persons.find(project_id, change.id)
    if (person === null) return null
    const named = { project_id, person_id: person.id }
    switch (change.kind) {
      case 'split':
        return this.#changed({ ...named, kind: 'split', main_distinct_id: null })
      case 'undo_merge':
        return this.#changed({ ...named, kind: 'undo_merge', merge_id: null })
      default:
        return this.#changed({ ...named, kind: 'delete', with_events: false, now: 0 })
    }
  }

  #changed(change: Parameters<typeof changePerson>[2]): unknown {
    const outcome = runParts(changePerson(this.persons, this.#removals, change), () => false)
    if (outcome === null) throw new Error('the change is not over')
    return outcome.kind === 'changed' ? outcome.persons.length : outcome.kind
  }

  /** A merge and some events, of which nothing stays. */
  #rollBack(project_id: number, { id, other }: { readonly id: string; readonly other: string }) {
    const sent = { kind: 'event', id, told: 3, set: {}, unset: [], is_personless: false } as const
    expect(() =>
      this.log.transact(() => {
        this.#send(project_id, { ...sent, other: null, is_personless: true })
        this.#send(project_id, { ...sent, other })
        this.#send(project_id, { ...sent, other: null })
        this.#send(project_id, { ...sent, id: other, other: null })
        for (const any_id of IDS) {
          this.#send(project_id, { ...sent, id: any_id, other: null, is_personless: true })
        }
        throw new Error('the disk is full')
      }),
    ).toThrow('the disk is full')
    this.persons.forget()
    return 'nothing'
  }

  /** How many ids are remembered as nobody's; each must be, and must be known to have sent events. */
  countStrangers(project_id: number): number {
    const strangers = IDS.filter((id) => this.persons.cache.findStranger(`${project_id}:${id}`))
    for (const id of strangers) {
      expect(this.persons.owners.find(project_id, id)).toBeNull()
      const sql = 'select 1 from personless_ids where project_id = ? and distinct_id = ?'
      expect(this.log.db.query(sql).all(project_id, id)).toHaveLength(1)
    }
    return strangers.length
  }

  /** Whose each id is, and what is known of them. */
  state(project_id: number): readonly unknown[] {
    return IDS.map((distinct_id) => {
      const person = this.persons.find(project_id, distinct_id)
      if (person === null) return null
      const row = this.log.db
        .query<{ properties: string; version: number }, [number, Uint8Array]>(
          'select properties, version from persons where project_id = ? and id = ?',
        )
        .get(project_id, person.id)
      const { is_identified, created_at } = person
      return { person: this.#nameOf(person.id), is_identified, created_at, ...row }
    })
  }

  #nameOf(person_id: Uint8Array): number {
    const hex = person_id.toHex()
    const name = this.#names.get(hex) ?? this.#names.size
    this.#names.set(hex, name)
    return name
  }
}

test(
  'any events, merges, changes by hand and rollbacks come to the same with and without',
  () => {
    for (const name of ['few', 'all']) Bun.spawnSync(['mkdir', '-p', join(folder, name)])
    // Room for two: senders are remembered from then on, and their persons are soon forgotten.
    const few = new World('few', 2)
    const all = new World('all', 1000)
    let project_id = 0
    let recalled = 0
    let strangers = 0
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 50 }), (steps) => {
        project_id += 1
        for (const one of steps) {
          if (few.persons.cache.findSender(`${project_id}:${one.id}`) !== null) recalled += 1
          expect(few.take(project_id, one)).toEqual(all.take(project_id, one))
          strangers += few.countStrangers(project_id)
        }
        expect(few.state(project_id)).toEqual(all.state(project_id))
      }),
      randomRuns(10),
    )
    expect(recalled).toBeGreaterThan(0)
    expect(strangers).toBeGreaterThan(0)
    few.log.close()
    all.log.close()
  },
  limitOf(60_000),
)
