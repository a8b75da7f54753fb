/** Persons that are known without being read: whatever happens to them, they are what is stored. */
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { EventLog } from '../../../src/storage/log/event-log.ts'
import { PersonReader } from '../../../src/storage/persons/person-reader.ts'
import {
  PersonStore,
  type StoredPerson,
  setProperties,
} from '../../../src/storage/persons/person-store.ts'
import { randomRuns } from '../../random-runs.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-known-people-'))
const log = new EventLog(folder)
const persons = new PersonStore(log)
const reader = new PersonReader(folder)

afterAll(() => {
  reader.close()
  log.close()
  rmSync(folder, { recursive: true })
})

const IDS = ['a', 'b', 'c', 'd', 'e']
const PROJECTS = [1, 2]

function commit(work: () => void): void {
  log.transact(() => {
    work()
    persons.flush()
  })
}

let persons_made = 0

function makePerson(project_id: number, distinct_id: string, n: number): StoredPerson {
  persons_made += 1
  const id = new Uint8Array(16)
  // Those of one group are taken for changed together, and nobody here shares one.
  new DataView(id.buffer).setUint16(14, persons_made)
  new DataView(id.buffer).setUint32(8, persons_made)
  const properties = { n }
  const person = persons.create({ project_id, id, created_at: 0, is_identified: false, properties })
  persons.attach(person, distinct_id)
  return person
}

/** What may happen to the person of an id; the number makes properties differ. */
const HAPPENINGS: readonly ((
  project_id: number,
  ids: readonly [string, string],
  n: number,
) => void)[] = [
  (project_id, [one], n) => {
    const person = persons.find(project_id, one) ?? makePerson(project_id, one, n)
    setProperties(person, { n }, null)
    persons.save(person)
  },
  (project_id, [one, other], n) => {
    const person = persons.find(project_id, one) ?? makePerson(project_id, one, n)
    if (persons.find(project_id, other) === null) persons.attach(person, other)
  },
  (project_id, [one, other], n) => {
    const into = persons.find(project_id, one) ?? makePerson(project_id, one, n)
    const from = persons.find(project_id, other)
    if (from !== null && from !== into) persons.absorb(from, into)
  },
  (project_id, [one, other], n) => {
    const person = persons.find(project_id, one)
    if (person !== null && persons.find(project_id, other) === null) {
      persons.giveBack(makePerson(project_id, other, n), one)
    }
  },
  (project_id, [one]) => {
    const person = persons.find(project_id, one)
    if (person === null) return
    persons.release(project_id, person.id, 100)
    persons.remove(person)
  },
]

function allPeople(from: PersonReader): unknown {
  return PROJECTS.map((project_id) =>
    IDS.map((id) => {
      const found = from.findPerson(project_id, id)
      return found && { id: found.id.toHex(), properties: found.properties }
    }),
  )
}

/** By somebody who knows nobody yet. */
function storedPeople(): unknown {
  const fresh = new PersonReader(folder)
  const people = allPeople(fresh)
  fresh.close()
  return people
}

describe('whoever is found', () => {
  const id = fc.constantFrom(...IDS)
  const happening = fc.tuple(
    fc.constantFrom(...HAPPENINGS),
    fc.constantFrom(...PROJECTS),
    fc.tuple(id, id),
    fc.nat(),
  )

  test('is who is stored now, after everything that can happen to persons', () => {
    const law = fc.property(
      fc.array(fc.array(happening, { minLength: 1, maxLength: 3 }), { maxLength: 8 }),
      (commits) => {
        for (const together of commits) {
          commit(() => {
            for (const [happen, project_id, ids, n] of together) happen(project_id, ids, n)
          })
          reader.refresh()
          const found = allPeople(reader)
          expect(found).toEqual(storedPeople())
          expect(allPeople(reader)).toEqual(found)
        }
      },
    )
    fc.assert(law, randomRuns(15))
  })

  test('is the same object while nothing about them changes, and another one then', () => {
    commit(() => makePerson(3, 'known', 1))
    reader.refresh()
    const before = reader.findPerson(3, 'known')
    commit(() => makePerson(3, 'somebody else', 1))
    reader.refresh()
    expect(reader.findPerson(3, 'known')).toBe(before)
    commit(() => {
      const person = persons.find(3, 'known')
      if (person === null) throw new Error('nobody is known')
      setProperties(person, { n: 2 }, null)
      persons.save(person)
    })
    reader.refresh()
    expect(reader.findPerson(3, 'known')?.properties).toEqual({ n: 2 })
  })

  test('is read again after a read that failed', () => {
    commit(() => makePerson(5, 'known', 1))
    reader.refresh()
    // SQLite's own failures need a second process, as SQLITE_BUSY_RECOVERY does.
    using other = new Database(join(folder, 'events.db'))
    other.run('alter table clock rename to hidden')
    expect(() => reader.findPerson(5, 'known')).toThrow('no such table')
    other.run('alter table hidden rename to clock')
    expect(reader.findPerson(5, 'known')?.properties).toEqual({ n: 1 })
  })

  test('is who is stored after more changes than are followed one by one', () => {
    const names = Array.from({ length: 1500 }, (_, number) => `many ${number}`)
    const numbersOf = () => names.map((name) => reader.findPerson(4, name)?.properties['n'])
    expect(numbersOf()).toEqual(names.map(() => undefined))
    commit(() => {
      names.forEach((name, number) => makePerson(4, name, number))
    })
    reader.refresh()
    expect(numbersOf()).toEqual(names.map((_, number) => number))
    commit(() => {
      names.forEach((name, number) => {
        const person = persons.find(4, name)
        if (person === null) throw new Error(`${name} is nobody`)
        setProperties(person, { n: -number - 1 }, null)
        persons.save(person)
      })
    })
    reader.refresh()
    expect(numbersOf()).toEqual(names.map((_, number) => -number - 1))
  })
})
