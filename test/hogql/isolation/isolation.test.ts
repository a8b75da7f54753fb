/** Hostile queries are refused or see the rows of their own project alone; no text of theirs becomes SQL. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { Refusal } from '../../../src/errors.ts'
import { compileHogQL } from '../../../src/hogql/compile.ts'
import { guardProject } from '../../../src/hogql/sql/ir.ts'
import { randomRuns } from '../../random-runs.ts'
import { CONTEXT, openWorld, type World } from '../engine.ts'
import { FOREIGN, insertRows, personId } from '../rows.ts'
import { OWN_ROWS, REFUSED } from './hostile.ts'
import { REFUSED_NAMES, REWRITTEN } from './hostile-rewrites.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
  await insertRows(world)
})
afterAll(() => world.close())

test('there are at least 200 tricks', () => {
  expect(Object.values(REFUSED).flat().length + OWN_ROWS.length).toBeGreaterThanOrEqual(200)
})

describe('refused', () => {
  for (const [family, texts] of Object.entries({ ...REFUSED, 'made up': REFUSED_NAMES })) {
    test.each(texts)(`${family}: %s`, (text) => {
      let thrown: unknown = null
      try {
        compileHogQL(text, CONTEXT)
      } catch (error) {
        thrown = error
      }
      expect(thrown).toBeInstanceOf(Refusal)
      expect((thrown as Refusal).code).toBe('invalid_input')
      expect((thrown as Refusal).attr).toBe('query')
    })
  }
})

describe('own rows', () => {
  test.each([...OWN_ROWS, ...REWRITTEN])('%s', async (text) => {
    let answer = 'refused'
    try {
      answer = JSON.stringify(
        await world.ask(text, { limits: { rows_default: 1000, rows_max: 1000 } }),
      )
    } catch (error) {
      // A refusal is fine; so is an error of the engine, which shows no rows.
      answer = error instanceof Error ? error.message : ''
    }
    const echoed = answer.replaceAll("'foreign'", '')
    expect(echoed).not.toContain(FOREIGN)
    // Nobody of project 1 has this id.
    expect(echoed).not.toContain(personId(9))
  })

  test('another project sees its own rows, and only those', async () => {
    const rows = await world.ask('select distinct distinct_id from events', { project_id: 2 })
    expect(rows).toEqual([[FOREIGN]])
  })

  test.each([0, -1, 1.5, Number.NaN])('project %d cannot be asked at all', (project_id) => {
    expect(() => guardProject(project_id)).toThrow('a query needs a project id')
    expect(() => compileHogQL('select 1', { ...CONTEXT, project_id })).toThrow(
      'a query needs a project id',
    )
  })
})

/** Texts that mean something to one engine or the other. */
const TEXT = fc.oneof(
  fc.string({ minLength: 6, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 6, maxLength: 20 }),
  fc.constantFrom(
    "'; drop table x; --",
    '"; select 2',
    '$99::BIGINT',
    "\\'; --",
    'a"b`c',
    '{x}',
    '%_%\\',
  ),
)

function quoted(text: string, quote: "'" | '"' | '`'): string {
  return `${quote}${text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote)}${quote}`
}

const FORMS: readonly ((text: string) => string)[] = [
  (text) => `select ${quoted(text, "'")}`,
  (text) => `select event from events where event = ${quoted(text, "'")}`,
  (text) => `select properties[${quoted(text, "'")}] from events`,
  (text) => `select 1 as ${quoted(text, '`')}`,
  (text) => `select ${quoted(text, '`')} from (select 1 as ${quoted(text, '`')})`,
  (text) => `with ${quoted(text, '`')} as (select 1 as a) select a from ${quoted(text, '`')}`,
  (text) => `select event from events as ${quoted(text, '`')}`,
  (text) =>
    `select match(event, ${quoted(text, "'")}), event like ${quoted(text, "'")} from events`,
  (text) => `select arrayMap(x -> concat(x, ${quoted(text, "'")}), ['a'])`,
  (text) => `select formatDateTime(now(), ${quoted(text, "'")})`,
  (text) => `select * from events unpivot (v for n in (event as ${quoted(text, '`')}))`,
  (text) => `select * from events pivot (count() for event in (${quoted(text, "'")}))`,
  (text) => `select <a href={${quoted(text, "'")}}>x</a>`,
  (text) => `select 1 as ${quoted(text, '`')} union all by name select 2 as a`,
  (text) => `select person_id in cohort ${quoted(text, "'")} from events`,
  (text) => `select count() from sessions where id = ${quoted(text, "'")}`,
  (text) => `select event from events where event in (${quoted(text, "'")}, 'b') limit 1 by event`,
]

/** What the form's SQL says with every text: a text may be a part of that, as `ropert` of `properties`. */
const ownWords = FORMS.map((form) => {
  try {
    return compileHogQL(form('kX9'), CONTEXT).sql
  } catch {
    return ''
  }
})

describe('no text of a query in the SQL', () => {
  test('whatever is written, it is bound', () => {
    fc.assert(
      fc.property(TEXT, fc.integer({ min: 0, max: FORMS.length - 1 }), (text, form) => {
        let compiled: ReturnType<typeof compileHogQL>
        try {
          compiled = compileHogQL(FORMS[form]?.(text) ?? '', CONTEXT)
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal)
          return
        }
        const isOwn = ownWords[form]?.includes(text) ?? false
        if (text.trim().length >= 6 && !isOwn) expect(compiled.sql).not.toContain(text)
        // Nothing but what this program writes: no quotes around anything of the query, no statement but one.
        expect(compiled.sql).not.toContain(';')
        expect(compiled.sql).not.toContain('--')
        expect(compiled.sql).toMatch(/^(WITH|SELECT|\()/)
      }),
      randomRuns(60),
    )
  })

  test('texts come back from the engine as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 30 }), async (text) => {
        const [row] = await world.ask(`select {text}`, { values: new Map([['text', text]]) })
        expect(row).toEqual([text])
      }),
      randomRuns(15),
    )
  })
})
