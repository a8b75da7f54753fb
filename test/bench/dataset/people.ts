/** The people and groups of the data set, as ingestion would have left them in events.db. */
import { DefinitionNoter, type DefinitionOwner } from '../../../src/ingest/notes/definitions.ts'
import type { EventLog } from '../../../src/storage/log/event-log.ts'
import type { PersonProperties } from '../../../src/storage/persons/person-store.ts'
import { seeded } from '../events.ts'
import { COMPANIES, type Extent, MERGED_EVERY, TEAMS, VISITOR_EVERY } from './events.ts'

const PROJECT = 1
/** Persons that are written in one transaction. */
const TOGETHER = 20_000

const md5 = (text: string): Buffer => new Bun.CryptoHasher('md5').update(text).digest()

/** As DuckDB spells a UUID of the same sixteen bytes. */
const spell = (id: Buffer): string =>
  id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

const PLANS = ['free', 'basic', 'pro', 'enterprise']
const COUNTRIES = ['DE', 'US', 'JP', 'FR', 'GB', 'BR', 'IN']

function propertiesOf(number: number, random: () => number, first_us: number): PersonProperties {
  return {
    email: `user-${number}@example.org`,
    name: `Person ${number}`,
    country: COUNTRIES[Math.floor(random() * COUNTRIES.length)] ?? 'DE',
    plan: PLANS[Math.floor(random() * PLANS.length)] ?? 'free',
    age: 18 + Math.floor(random() * 60),
    is_vip: random() < 0.05,
    signed_up_at: new Date(first_us / 1000 + random() * 4e10).toISOString(),
    $initial_referring_domain: random() < 0.5 ? '$direct' : 'search.example',
  }
}

/** Persons with their distinct ids, some of them merged from another one, and what is known of their properties. */
export function writePersons(log: EventLog, { persons, first_us }: Extent): void {
  const random = seeded(7)
  const definitions = new DefinitionNoter(log)
  const person = log.db.prepare(
    'insert into persons (project_id, id, created_at, properties, is_identified, version, change) values (1, ?, ?, ?, 1, 1, ?)',
  )
  const distinct = log.db.prepare(
    'insert into distinct_ids (project_id, distinct_id, person_id, version, change) values (1, ?, ?, 0, ?)',
  )
  const override = log.db.prepare(
    'insert into person_overrides (project_id, old_person_id, person_id, change) values (1, ?, ?, ?)',
  )
  for (let from = 0; from < persons; from += TOGETHER) {
    log.transact(() => {
      for (let number = from; number < Math.min(persons, from + TOGETHER); number++) {
        const id = md5(`person ${number}`)
        const properties = propertiesOf(number, random, first_us)
        person.run(id, first_us, JSON.stringify(properties), log.nextChange())
        distinct.run(`user-${number}`, id, log.nextChange())
        if (number % VISITOR_EVERY === 0) {
          distinct.run(spell(md5(`browser ${number}`)), id, log.nextChange())
        }
        if (number % MERGED_EVERY === 0) {
          override.run(md5(`visitor ${number}`), id, log.nextChange())
        }
        if (number < 100) definitions.noteProperties(PROJECT, 'person', properties, first_us)
      }
    })
  }
}

const GROUPS: readonly (readonly [type: string, count: number, (n: number) => PersonProperties])[] =
  [
    [
      'company',
      COMPANIES,
      (n) => ({ name: `Company ${n}`, seats: n % 500, industry: ['shops', 'banks'][n % 2] ?? '' }),
    ],
    ['team', TEAMS, (n) => ({ name: `Team ${n}`, size: 2 + (n % 30) })],
  ]

/** Two types of groups. */
export function writeGroups(log: EventLog, { first_us }: Extent): void {
  const definitions = new DefinitionNoter(log)
  log.transact(() => {
    for (const [index, [type, count, propertiesOfGroup]] of GROUPS.entries()) {
      log.db.run('insert into group_types values (1, ?, ?)', [type, index])
      const group = log.db.prepare('insert into groups values (1, ?, ?, ?, ?, ?, ?, 0)')
      for (let number = 0; number < count; number++) {
        const properties = propertiesOfGroup(number)
        const key = `${type}-${number}`
        const text = JSON.stringify(properties)
        group.run(index, key, first_us, first_us, text, log.nextChange())
        const owner: DefinitionOwner = index === 0 ? 0 : 1
        if (number < 100) definitions.noteProperties(PROJECT, owner, properties, first_us)
      }
    }
  })
}

/** What ingestion would have learnt of the names in these events. */
export function writeDefinitions(
  log: EventLog,
  events: readonly { readonly event: string; readonly properties: PersonProperties }[],
  now_us: number,
): void {
  const definitions = new DefinitionNoter(log)
  log.transact(() => {
    for (const { event, properties } of events) {
      definitions.noteEvent(PROJECT, event, now_us)
      definitions.noteProperties(PROJECT, 'event', properties, now_us)
    }
  })
}
