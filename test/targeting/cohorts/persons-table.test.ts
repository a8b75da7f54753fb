/** Uploaded tables of people: which column is read, whatever parts the cells. */
import { describe, expect, test } from 'bun:test'
import { array, assert, asyncProperty, constantFrom, string, uniqueArray } from 'fast-check'
import { Refusal } from '../../../src/errors.ts'
import { readPeopleTable } from '../../../src/targeting/cohorts/persons-table.ts'
import { randomRuns } from '../../random-runs.ts'

describe('a table of people', () => {
  test.each([
    ['ann\nbob\n', 'id', ['ann', 'bob']],
    ['\uFEFFemail\r\na@b.c\r\n', 'email', ['a@b.c']],
    ['E-Mail Address\nA@b.c\n', 'email', ['A@b.c']],
    ['Distinct ID\nann', 'id', ['ann']],
    ['name,plan,distinct-id\nAnn,pro,ann\nBob,,bob\n', 'id', ['ann', 'bob']],
    ['name;email\nAnn;a@b.c\n', 'email', ['a@b.c']],
    ['name\tdistinctid\nAnn\tann\n', 'id', ['ann']],
    ['email,distinct_id\na@b.c,ann\n', 'id', ['ann']],
    ['distinct_id,person_id\nann,0190\n', 'id', ['0190']],
    ['name,email\n"Ann, ""the""\nfirst",a@b.c\n', 'email', ['a@b.c']],
    ['name,email\n\nAnn, a@b.c \n , \nBob\n', 'email', ['a@b.c']],
    ['a@b.c', 'id', ['a@b.c']],
    ['User ID,\nann,\n', 'id', ['User ID', 'ann']],
  ] as const)('%j names by %s %j', async (text, by, names) => {
    expect(await readPeopleTable(text)).toEqual({ by, names })
  })

  test.each([
    ['', 'CSV file is empty.'],
    ['\n\n', 'CSV file is empty.'],
    ['\uFEFF', 'CSV file is empty.'],
    ['name,plan\nAnn,pro\n', 'Of several columns'],
    ['ann,bob\ncat,dan\n', 'Of several columns'],
    ['email', 'CSV file has no person IDs'],
    ['email,distinct_id\na@b.c,\n', 'CSV file has no person IDs'],
  ])('%j is refused: %s', (text, reason) => {
    expect(readPeopleTable(text)).rejects.toThrow(reason)
  })

  test('has the separator that its first 100,000 characters have: no more are searched for it', async () => {
    const note = ' '.repeat(99_990)
    expect(await readPeopleTable(`distinct_id,${note};;;;\nann,\n`)).toEqual({
      by: 'id',
      names: ['ann'],
    })
  })

  test('is read as it was written, whatever stands in it', async () => {
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
    const cell = string({ unit: constantFrom('a', ',', ';', '\t', '"', '\n', '\r', ' ', 'ä') })
    const ends = constantFrom('\n', '\r\n', '\r')
    await assert(
      asyncProperty(
        array(cell, { minLength: 1, maxLength: 8 }),
        constantFrom(',', ';', '\t'),
        ends,
        uniqueArray(constantFrom('x', 'y', 'z'), { maxLength: 3 }),
        async (cells, separator, end, others) => {
          const head = ['distinct_id', ...others].map(quoted).join(separator)
          const rows = cells.map((one) =>
            [one, ...others.map(() => 'o')].map(quoted).join(separator),
          )
          const last = ['last', ...others].map(quoted).join(separator)
          const { names } = await readPeopleTable([head, ...rows, last].join(end))
          expect(names).toEqual(
            [...cells, 'last'].map((one) => one.trim()).filter((one) => one !== ''),
          )
        },
      ),
      randomRuns(40),
    )
  })

  test.each([
    ['lines', 'a\n'.repeat(1_000_000)],
    ['blank lines', `a${'\n'.repeat(2_000_000)}`],
    ['quotes', '"'.repeat(2_000_000)],
    ['quoted cells that do not end', '"a\n'.repeat(600_000)],
    ['pairs of quotes', `"${'""'.repeat(900_000)}`],
    ['runs of quotes', '"""a\n""a\n'.repeat(200_000)],
  ])(
    'takes time with its length, whatever %s it has, and leaves room for others',
    async (_what, text) => {
      let turns = 0
      const timer = setInterval(() => {
        turns += 1
      }, 1)
      const started = process.cpuUsage()
      const outcome = await readPeopleTable(text).catch((error: unknown) => error)
      clearInterval(timer)
      const { user, system } = process.cpuUsage(started)
      expect(user + system).toBeLessThan(3_000_000)
      expect(outcome instanceof Refusal || turns > 3).toBe(true)
    },
  )

  test.each([
    ['columns', ','.repeat(1000)],
    ['characters in a cell', 'x'.repeat(100_001)],
  ])('is refused for too many %s', (_what, text) => {
    expect(readPeopleTable(text)).rejects.toThrow('may have 1000')
  })
})
