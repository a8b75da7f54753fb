/** HogQLX tags: `<Sparkline data={x} kind='y'>children</Sparkline>`, scanned by characters. */

import type { Expr, HogQLXAttribute, HogQLXTag } from '../syntax/ast.ts'
import { constant } from '../syntax/nodes.ts'
import { syntaxError } from '../syntax/syntax-error.ts'
import {
  at,
  type Cursor,
  descend,
  peek,
  placeFrom,
  refuseSpan,
  refuseUnexpected,
  resumeAt,
} from './cursor.ts'
import { readString } from './expressions/literals.ts'
import { POWER } from './expressions/powers.ts'

const TAG_NAME = /[A-Za-z_][\w-]*/y
const TAG_SPACE = /[ \t\r\n]*/y

/** Whether the `<` at the current token begins a tag. */
export function atTag(cursor: Cursor): boolean {
  return at(cursor, '<') && peek(cursor).kind === 'word'
}

/** The tag whose `<` is the current token. */
export function readTag(cursor: Cursor): HogQLXTag {
  const tag = readTagAt(cursor, cursor.token.start)
  resumeAt(cursor, cursor.behind)
  return tag
}

/** Reads the tag at `start`; its end becomes `cursor.behind`, the current token is then stale. */
function readTagAt(cursor: Cursor, start: number): HogQLXTag {
  descend(cursor)
  const name = readTagName(cursor, start + 1, 'the name of a tag')
  const { attributes, end, closed } = readAttributes(cursor, name.end)
  cursor.behind = end
  const children = closed ? [] : readChildren(cursor, name.text, end)
  if (children.length > 0) {
    if (attributes.some((attribute) => attribute.name === 'children')) {
      const span = { start, end: cursor.behind }
      throw refuseSpan(cursor, span, 'a tag has either children or an attribute "children".')
    }
    const place = placeFrom(cursor, end)
    attributes.push({ kind: 'HogQLXAttribute', ...place, name: 'children', value: children })
  }
  cursor.depth -= 1
  return { kind: 'HogQLXTag', ...placeFrom(cursor, start), tag: name.text, attributes }
}

type TagPiece = { readonly text: string; readonly start: number; readonly end: number }

function readTagName(cursor: Cursor, from: number, what: string): TagPiece {
  const start = skipSpace(cursor.text, from)
  const text = match(TAG_NAME, cursor.text, start)
  if (text === '') throw fault(cursor, start, `expected ${what}.`)
  return { text, start, end: start + text.length }
}

type TagHead = { attributes: HogQLXAttribute[]; end: number; closed: boolean }

function readAttributes(cursor: Cursor, from: number): TagHead {
  const attributes: HogQLXAttribute[] = []
  let offset = skipSpace(cursor.text, from)
  for (;;) {
    if (cursor.text.startsWith('/>', offset)) return { attributes, end: offset + 2, closed: true }
    if (cursor.text.startsWith('>', offset)) return { attributes, end: offset + 1, closed: false }
    attributes.push(readAttribute(cursor, offset))
    offset = skipSpace(cursor.text, cursor.behind)
  }
}

/** `name`, `name='text'` or `name={expression}`; its end becomes `cursor.behind`. */
function readAttribute(cursor: Cursor, from: number): HogQLXAttribute {
  const name = readTagName(cursor, from, 'an attribute, ">" or "/>"')
  const equals = skipSpace(cursor.text, name.end)
  cursor.behind = name.end
  if (cursor.text.charAt(equals) !== '=') {
    const value = constant(true, placeFrom(cursor, name.start))
    return { kind: 'HogQLXAttribute', ...placeFrom(cursor, name.start), name: name.text, value }
  }
  const value_start = skipSpace(cursor.text, equals + 1)
  const value = readAttributeValue(cursor, value_start)
  return { kind: 'HogQLXAttribute', ...placeFrom(cursor, name.start), name: name.text, value }
}

function readAttributeValue(cursor: Cursor, start: number): Expr {
  const first = cursor.text.charAt(start)
  if (first === '{') return readHole(cursor, start)
  if (first !== "'") throw fault(cursor, start, 'expected \'text\' or {expression} after "=".')
  resumeAt(cursor, start)
  return readString(cursor)
}

/** `{expression}`; the end of its closing brace becomes `cursor.behind`; nothing after it is scanned. */
function readHole(cursor: Cursor, start: number): Expr {
  resumeAt(cursor, start + 1)
  const expr = cursor.rules.expr(cursor, POWER.any)
  if (!at(cursor, '}')) throw refuseUnexpected(cursor, '"}" after the expression in the tag')
  cursor.behind = cursor.token.end
  return expr
}

/** Texts, holes and tags up to `</name>`, whose end becomes `cursor.behind`. */
function readChildren(cursor: Cursor, name: string, from: number): Expr[] {
  const children: Expr[] = []
  let offset = from
  while (!cursor.text.startsWith('</', offset)) {
    children.push(readChild(cursor, offset, name))
    offset = cursor.behind
  }
  const closing = readTagName(cursor, offset + 2, `the name "${name}"`)
  const end = skipSpace(cursor.text, closing.end)
  if (closing.text !== name) {
    throw refuseSpan(cursor, closing, `the tag "${name}" is closed as "${closing.text}".`)
  }
  if (cursor.text.charAt(end) !== '>') throw fault(cursor, end, `expected ">" after "</${name}".`)
  cursor.behind = end + 1
  return children
}

function readChild(cursor: Cursor, start: number, name: string): Expr {
  const first = cursor.text.charAt(start)
  if (first === '{') return readHole(cursor, start)
  if (first === '<') return readTagAt(cursor, start)
  const stop = cursor.text.slice(start).search(/[<{]/)
  if (stop < 0) throw fault(cursor, cursor.text.length, `expected "</${name}>".`)
  cursor.behind = start + stop
  return constant(cursor.text.slice(start, start + stop), placeFrom(cursor, start))
}

function fault(cursor: Cursor, offset: number, message: string): Error {
  const end = Math.min(offset + 1, cursor.text.length)
  return syntaxError(cursor.text, { start: offset, end }, message)
}

function skipSpace(text: string, from: number): number {
  return from + match(TAG_SPACE, text, from).length
}

function match(pattern: RegExp, text: string, from: number): string {
  pattern.lastIndex = from
  return pattern.exec(text)?.[0] ?? ''
}
