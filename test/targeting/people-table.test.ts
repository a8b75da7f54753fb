/** Uploaded tables of people: which column is read, whatever parts the cells. */
import { describe, expect, test } from 'bun:test'
import { array, assert, constantFrom, property, string, uniqueArray } from 'fast-check'
import { peopleInTable } from '../../src/targeting/people-table.ts'

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
    ['email', 'email', []],
  ] as const)('%j names by %s %j', (text, by, names) => {
    expect(peopleInTable(text)).toEqual({ by, names })
  })

  test.each(['', '\n\n', '\uFEFF', 'name,plan\nAnn,pro\n', 'ann,bob\ncat,dan\n'])(
    '%j is refused',
    (text) => {
      expect(() => peopleInTable(text)).toThrow(
        text.trim() === '' || text === '\uFEFF' ? 'CSV file is empty.' : 'Of several columns',
      )
    },
  )

  test('is read as it was written, whatever stands in it', () => {
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
    const cell = string({ unit: constantFrom('a', ',', ';', '\t', '"', '\n', '\r', ' ', 'ä') })
    const ends = constantFrom('\n', '\r\n', '\r')
    assert(
      property(
        array(cell, { minLength: 1, maxLength: 8 }),
        constantFrom(',', ';', '\t'),
        ends,
        uniqueArray(constantFrom('x', 'y', 'z'), { maxLength: 3 }),
        (cells, separator, end, others) => {
          const head = ['distinct_id', ...others].map(quoted).join(separator)
          const rows = cells.map((one) =>
            [one, ...others.map(() => 'o')].map(quoted).join(separator),
          )
          const { names } = peopleInTable([head, ...rows].join(end))
          expect(names).toEqual(cells.map((one) => one.trim()).filter((one) => one !== ''))
        },
      ),
      { numRuns: 200 },
    )
  })
})
