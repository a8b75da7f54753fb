/** Type names in casts: `Array(Nullable(String))`, `Decimal(10, 2)`, `timestamp with time zone`. */

import {
  advance,
  at,
  atPair,
  type Cursor,
  commaList,
  descend,
  expect,
  expectName,
  peek,
  refuseSpan,
  refuseUnexpected,
  take,
} from '../cursor.ts'
import { atListEnd } from '../words.ts'

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/

/** Names of more than one word, in lower case. */
const LONG_NAMES: readonly (readonly string[])[] = [
  ['DOUBLE', 'PRECISION'],
  ['TIME', 'WITH', 'TIME', 'ZONE'],
  ['TIME', 'WITHOUT', 'TIME', 'ZONE'],
  ['TIME', 'WITH', 'LOCAL', 'TIME', 'ZONE'],
  ['TIMESTAMP', 'WITH', 'TIME', 'ZONE'],
  ['TIMESTAMP', 'WITHOUT', 'TIME', 'ZONE'],
  ['TIMESTAMP', 'WITH', 'LOCAL', 'TIME', 'ZONE'],
]

/**
 * The type in lower case, one space after each comma: `array(nullable(string))`. Quoted text keeps
 * its case.
 */
export function readTypeName(cursor: Cursor): string {
  descend(cursor)
  let name = takeLongName(cursor) ?? readPlainName(cursor).toLowerCase()
  if (take(cursor, '(')) {
    const params = at(cursor, ')') ? [] : commaList(cursor, readTypeParam, atListEnd)
    expect(cursor, ')', `after the parameters of ${name}`)
    name += `(${params.join(', ')})`
  }
  while (atPair(cursor, '[', ']')) {
    advance(cursor)
    advance(cursor)
    name += '[]'
  }
  cursor.depth -= 1
  return name
}

/** The name of a type is one word, also when quoted. */
function readPlainName(cursor: Cursor): string {
  const { token } = cursor
  const name = expectName(cursor, 'the name of a type')
  if (!PLAIN_NAME.test(name)) throw refuseSpan(cursor, token, 'there is no type of this name.')
  return name
}

/** A number, a text (an enum's with its number), a type, or a name and its type. */
function readTypeParam(cursor: Cursor): string {
  const { kind } = cursor.token
  if (kind === 'number') return takeText(cursor)
  if (take(cursor, '-')) return `-${takeText(cursor)}`
  if (kind === 'string') {
    const text = takeText(cursor)
    if (!take(cursor, '=')) return text
    const sign = take(cursor, '-') ? '-' : ''
    return `${text} = ${sign}${takeText(cursor)}`
  }
  const next = peek(cursor).kind
  const named = (next === 'word' || next === 'quoted') && !startsLongName(cursor)
  if (!named) return readTypeName(cursor)
  const { token } = cursor
  const name = expectName(cursor, 'a name')
  const quoted = PLAIN_NAME.test(name) ? name : cursor.text.slice(token.start, token.end)
  return `${quoted} ${readTypeName(cursor)}`
}

function takeText(cursor: Cursor): string {
  const { start, end } = advance(cursor)
  return cursor.text.slice(start, end)
}

function startsLongName(cursor: Cursor): boolean {
  return LONG_NAMES.some((words) => atPair(cursor, words[0] ?? '', words[1] ?? ''))
}

/** The first two words decide; a third word that does not fit is refused by name. */
function takeLongName(cursor: Cursor): string | null {
  if (!startsLongName(cursor)) return null
  const taken: string[] = []
  let fitting = LONG_NAMES
  while (fitting.some((words) => words.length > taken.length)) {
    const { key } = cursor.token
    const next = fitting.filter((words) => words[taken.length] === key)
    if (next.length === 0) {
      const allowed = new Set(fitting.map((words) => words[taken.length] ?? ''))
      throw refuseUnexpected(cursor, `${[...allowed].join(' or ')} after ${taken.join(' ')}`)
    }
    taken.push(advance(cursor).key)
    fitting = next
  }
  return taken.join(' ').toLowerCase()
}
