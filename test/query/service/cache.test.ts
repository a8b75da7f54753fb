/** The cache: what is kept, for how long, and for whom. */
import { describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { AnswerCache, type ComputedAnswer, openCacheDB } from '../../../src/query/service/cache.ts'
import { limitOf } from '../../long-tests.ts'
import { randomRuns } from '../../random-runs.ts'

class Folder implements Disposable {
  readonly path: string
  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'tidemark-cache-'))
  }
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

const answer = (text: string, last_refresh_ms = 1): ComputedAnswer => ({
  head: '{"columns":["a"]}',
  results: Buffer.from(text),
  last_refresh_ms,
  ends_at_ms: null,
})
const ageIn = (cache: AnswerCache, project_id: number, key: string): number | null =>
  cache.findTimes(project_id, key)?.last_refresh_ms ?? null
const textOf = (found: ComputedAnswer | null): string | null =>
  found === null ? null : Buffer.from(found.results).toString()

const KIB = 1024

describe('the cache', () => {
  test('gives an answer back, to its own project alone', () => {
    using folder = new Folder()
    const cache = new AnswerCache(openCacheDB(folder.path), 100 * KIB)
    cache.put(1, 'k', { ...answer('[[1]]', 77), ends_at_ms: 66 }, 100)
    expect(cache.find(1, 'k', 101)).toEqual({
      head: '{"columns":["a"]}',
      results: new Uint8Array(Buffer.from('[[1]]')),
      last_refresh_ms: 77,
      ends_at_ms: 66,
    })
    expect(cache.findTimes(1, 'k')).toMatchObject({ last_refresh_ms: 77, ends_at_ms: 66 })
    expect([ageIn(cache, 1, 'k'), ageIn(cache, 2, 'k'), ageIn(cache, 1, 'l')]).toEqual([
      77,
      null,
      null,
    ])
    expect(cache.find(2, 'k', 101)).toBeNull()
  })

  test('begins anew where a page of its file is damaged', () => {
    using folder = new Folder()
    const path = join(folder.path, 'cache.db')
    const db = openCacheDB(folder.path)
    new AnswerCache(db, 100 * KIB).put(1, 'k', answer('[[1]]', 1), 100)
    db.run('pragma wal_checkpoint(truncate)')
    db.close()
    // The first page has the tables' names.
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xa5, 4096))
    const cache = new AnswerCache(openCacheDB(folder.path), 100 * KIB)
    expect([cache.find(1, 'k', 101), cache.state.answers]).toEqual([null, 0])
  })

  test('keeps the newest answer to a query', () => {
    using folder = new Folder()
    const cache = new AnswerCache(openCacheDB(folder.path), 100 * KIB)
    cache.put(1, 'k', answer('[[1]]', 1), 100)
    cache.put(1, 'k', answer('[[2]]', 2), 101)
    expect([textOf(cache.find(1, 'k', 102)), cache.state.answers]).toEqual(['[[2]]', 1])
  })

  test('has an answer before it is written, to its own project alone, unless that is forgotten or dropped', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 100 * KIB)
    const keep = (project_id: number, key: string, now_ms: number): boolean =>
      cache.keep(project_id, key, answer(`["${key}"]`, now_ms), now_ms)
    cache.put(1, 'a', answer('["older"]', 1), 1)
    expect([keep(1, 'a', 2), keep(2, 'b', 2), keep(3, 'c', 2)]).toEqual([true, false, false])
    cache.forget(2, 3)
    cache.dropProject(3)
    const find = (one: AnswerCache) =>
      [one.find(1, 'a', 4), one.find(2, 'a', 4), one.find(2, 'b', 4), one.find(3, 'c', 4)].map(
        textOf,
      )
    expect([find(cache), ageIn(cache, 1, 'a')]).toEqual([['["a"]', null, null, null], 2])
    expect(find(new AnswerCache(db, 100 * KIB))).toEqual(['["older"]', null, null, null])
    cache.write()
    for (const one of [cache, new AnswerCache(db, 100 * KIB)]) {
      expect(find(one)).toEqual(['["a"]', null, null, null])
    }
    expect(keep(1, 'd', 5)).toBe(true)
  })

  test('stores the other answers when one cannot be stored', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 100 * KIB)
    db.run(
      "create trigger refuse before insert on answers when new.cache_key = 'a' begin select raise(abort, 'no'); end",
    )
    for (const key of ['a', 'b']) cache.keep(1, key, answer(`["${key}"]`, 2), 2)
    expect(() => cache.write()).toThrow('answers could not be cached')
    expect(textOf(new AnswerCache(db, 100 * KIB).find(1, 'b', 4))).toBe('["b"]')
  })

  test('forgets the past of a project, and keeps no answer that was still being computed then', () => {
    using folder = new Folder()
    const cache = new AnswerCache(openCacheDB(folder.path), 100 * KIB)
    cache.put(1, 'k', answer('[[1]]', 50), 100)
    cache.put(2, 'l', answer('[[2]]', 50), 100)
    cache.forget(1, 200)
    cache.put(1, 'm', answer('[[3]]', 199), 201)
    cache.put(1, 'n', answer('[[4]]', 201), 202)
    const kept = [cache.find(1, 'k', 203), cache.find(1, 'm', 203), cache.find(1, 'n', 203)]
    expect(kept.map(textOf)).toEqual([null, null, '[[4]]'])
    expect(textOf(cache.find(2, 'l', 203))).toBe('[[2]]')
  })

  test('answers nothing from before also where the disk refuses to forget it', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 100 * KIB)
    cache.put(1, 'k', answer('[[1]]', 50), 100)
    db.run('pragma query_only = 1')
    expect(() => cache.forget(1, 200)).toThrow()
    expect([ageIn(cache, 1, 'k'), cache.find(1, 'k', 201)]).toEqual([null, null])
  })

  test('is read also while nothing can be written', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 1000 * KIB)
    for (let key = 0; key < 1100; key++) cache.put(1, `${key}`, answer('[]', 50), 100)
    db.run('pragma query_only = 1')
    const found = Array.from({ length: 1100 }, (_, key) => cache.find(1, `${key}`, 200) !== null)
    expect(found).not.toContain(false)
    expect(() => cache.flushWhenMany()).toThrow()
  })

  test('is there after a restart, with who was used last', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 8 * KIB)
    for (const key of ['a', 'b', 'c']) cache.put(1, key, answer('x'.repeat(800)), 100)
    cache.find(1, 'a', 200)
    cache.flush()
    const { state } = cache
    db.close()
    const again = new AnswerCache(openCacheDB(folder.path), 8 * KIB)
    expect(again.state).toEqual(state)
    for (const key of ['d', 'e', 'f', 'g', 'h', 'i'])
      again.put(1, key, answer('x'.repeat(800)), 300)
    // Room for eight: b went, which was as old as c and stood before it.
    expect([ageIn(again, 1, 'a'), ageIn(again, 1, 'b'), ageIn(again, 1, 'i')]).toEqual([1, null, 1])
  })

  test(
    'never has more bytes than it may, and forgets the least recently used first',
    () => {
      const size = 1000
      const steps = fc.array(
        fc.record({ key: fc.integer({ min: 0, max: 30 }), put: fc.boolean() }),
        {
          maxLength: 120,
        },
      )
      fc.assert(
        fc.property(steps, (list) => {
          using folder = new Folder()
          const cache = new AnswerCache(openCacheDB(folder.path), 10_000)
          // The model: keys in the order of their last use.
          let order: number[] = []
          list.forEach(({ key, put }, now) => {
            const known = order.includes(key)
            if (put) cache.put(1, `${key}`, answer('x'.repeat(size)), now)
            const found = cache.find(1, `${key}`, now) !== null
            expect(found).toBe(put || known)
            if (found) order = [...order.filter((other) => other !== key), key]
            const { answers, byte_count } = cache.state
            expect(byte_count).toBeLessThanOrEqual(10_000)
            order = order.slice(-answers)
            expect(order.map((other) => ageIn(cache, 1, `${other}`))).toEqual(order.map(() => 1))
          })
        }),
        randomRuns(8),
      )
    },
    limitOf(60_000),
  )

  test('does not keep what would push out most others', () => {
    using folder = new Folder()
    const cache = new AnswerCache(openCacheDB(folder.path), 80 * KIB)
    cache.put(1, 'small', answer('x'), 1)
    cache.put(1, 'large', answer('x'), 1)
    cache.put(1, 'large', answer('x'.repeat(11 * KIB)), 2)
    // The older answer goes too: it is not what the query has now.
    expect([ageIn(cache, 1, 'small'), ageIn(cache, 1, 'large')]).toEqual([1, null])
  })

  test('answers from memory what it would answer from the disk, whatever has happened', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const project_id = fc.constantFrom(1, 2)
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put'), project_id, key }),
      fc.record({ kind: fc.constantFrom('find', 'forget', 'drop'), project_id, key }),
    )
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const cache = new AnswerCache(db, 1000 * KIB)
        for (const [now_ms, { kind, project_id: id, key: k }] of steps.entries()) {
          if (kind === 'put') cache.put(id, `${id} ${k}`, answer(`[${now_ms}]`, now_ms), now_ms)
          if (kind === 'forget') cache.forget(id, now_ms)
          if (kind === 'drop') cache.dropProject(id)
          const warm = ['a', 'b', 'c'].flatMap((one) =>
            [1, 2].map((of) => {
              const found = cache.find(of, `${id} ${one}`, now_ms)
              expect(ageIn(cache, of, `${id} ${one}`)).toBe(found?.last_refresh_ms ?? null)
              return textOf(found)
            }),
          )
          const cold = new AnswerCache(db, 1000 * KIB)
          const read = ['a', 'b', 'c'].flatMap((one) =>
            [1, 2].map((of) => textOf(cold.find(of, `${id} ${one}`, now_ms))),
          )
          expect(warm).toEqual(read)
        }
        for (const id of [1, 2]) cache.dropProject(id)
      }),
      randomRuns(8),
    )
    db.close()
  })

  test('forgets a project', () => {
    using folder = new Folder()
    const cache = new AnswerCache(openCacheDB(folder.path), 80 * KIB)
    cache.put(1, 'a', answer('x'), 1)
    cache.put(2, 'b', answer('x'), 1)
    const { byte_count } = cache.state
    cache.dropProject(1)
    expect([ageIn(cache, 1, 'a'), ageIn(cache, 2, 'b')]).toEqual([null, 1])
    expect(cache.state).toEqual({ answers: 1, byte_count: byte_count / 2 })
  })

  test.each([
    [
      'garbage',
      'this is no database, but it is long enough to look like a file of one. '.repeat(99),
    ],
    ['nothing', ''],
  ])('begins anew over %s', (_what, content) => {
    using folder = new Folder()
    writeFileSync(join(folder.path, 'cache.db'), content)
    const cache = new AnswerCache(openCacheDB(folder.path), 80 * KIB)
    cache.put(1, 'a', answer('x'), 1)
    expect(ageIn(cache, 1, 'a')).toBe(1)
  })

  test('begins anew over a database of a newer server', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    db.run('pragma user_version = 99')
    db.close()
    expect(new AnswerCache(openCacheDB(folder.path), KIB).state.answers).toBe(0)
    expect(readdirSync(folder.path)).toContain('cache.db')
  })

  test('counts what it has, also after answers that found no room on the disk', () => {
    using folder = new Folder()
    const db = openCacheDB(folder.path)
    const cache = new AnswerCache(db, 800 * KIB)
    cache.put(1, 'a', answer('x'.repeat(20 * KIB)), 1)
    const { state } = cache
    // SQLite then says that the disk is full.
    db.run('pragma max_page_count = 1')
    for (let times = 0; times < 3; times += 1)
      expect(() => cache.put(1, 'a', answer('y'.repeat(60 * KIB)), 2)).toThrow('full')
    expect(cache.state).toEqual(state)
    expect(textOf(cache.find(1, 'a', 3))).toStartWith('x')
    db.close()
  })

  test('is in memory where there can be no file', () => {
    using folder = new Folder()
    mkdirSync(join(folder.path, 'cache.db', 'something'), { recursive: true })
    const faults: unknown[] = []
    const db = openCacheDB(folder.path, (error) => faults.push(error))
    const cache = new AnswerCache(db, 80 * KIB)
    cache.put(1, 'a', answer('x'), 1)
    expect(ageIn(cache, 1, 'a')).toBe(1)
    expect(faults).toEqual([expect.any(Error)])
    db.close()
  })
})
