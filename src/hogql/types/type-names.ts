/** Type names in casts, and the types they denote. */

import type { CompileContext } from '../context.ts'
import { lookUpZone } from '../times/zones.ts'
import {
  arrayType,
  BOOL,
  DATE,
  dateTimeType,
  FLOAT64,
  INT64,
  type IntBits,
  intType,
  STRING,
  type Type,
  tupleType,
  UUID,
  withNull,
} from './types.ts'

const NAMES: Readonly<Record<string, Type>> = {
  string: STRING,
  text: STRING,
  varchar: STRING,
  char: STRING,
  fixedstring: STRING,
  int: INT64,
  integer: INT64,
  bigint: INT64,
  smallint: intType(16, true),
  tinyint: intType(8, true),
  float: FLOAT64,
  double: FLOAT64,
  doubleprecision: FLOAT64,
  real: FLOAT64,
  bool: BOOL,
  boolean: BOOL,
  uuid: UUID,
  date: DATE,
  date32: DATE,
}

const INT = /^(u?)int(8|16|32|64|128)$/
const WRAPPED = /^(nullable|lowcardinality|array|tuple)\((.*)\)$/s
const DECIMAL = /^(?:decimal|numeric|decimal64|decimal32)(?:\((\d{1,2})(?:,\s*(\d{1,2}))?\))?$/
const DATETIME =
  /^(?:datetime|datetime64|timestamp|timestamptz)(?:\((?:(\d),?\s*)?(?:'([^']*)')?\))?$/

/** Names of types without parameters, for "did you mean". */
export function typeNames(): readonly string[] {
  const ints = ['8', '16', '32', '64', '128'].flatMap((bits) => [`int${bits}`, `uint${bits}`])
  return [
    ...Object.keys(NAMES),
    ...ints,
    'float32',
    'float64',
    'datetime',
    'datetime64',
    'timestamp',
  ]
}

/** The type of a name in lower case without spaces; null when there is none. */
export function findType(name: string, context: CompileContext): Type | null {
  const plain = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
  if (plain !== undefined) return plain
  const int = INT.exec(name)
  if (int !== null) return intType(Number(int[2]) as IntBits, int[1] !== 'u')
  if (/^float(32|64)$/.test(name)) return FLOAT64
  const time = DATETIME.exec(name)
  if (time !== null) {
    const zone = lookUpZone(time[2] ?? context.timezone, context)
    return dateTimeType(zone.name, Number(time[1] ?? (name.startsWith('datetime64') ? 3 : 6)))
  }
  const decimal = DECIMAL.exec(name)
  if (decimal !== null) return decimalType(Number(decimal[1] ?? 18), Number(decimal[2] ?? 3))
  const wrapped = WRAPPED.exec(name)
  if (wrapped === null) return null
  return wrappedType(wrapped[1] ?? '', wrapped[2] ?? '', context)
}

function decimalType(precision: number, scale: number): Type | null {
  if (precision < 1 || precision > 38 || scale > precision) return null
  return { kind: 'decimal', precision, scale, nullable: false }
}

function wrappedType(wrapper: string, inside: string, context: CompileContext): Type | null {
  const parts = splitTypes(inside).map((part) => findType(part.trim(), context))
  const known = parts.filter((part) => part !== null)
  const [only] = known
  if (known.length !== parts.length || only === undefined) return null
  if (wrapper === 'tuple') return tupleType(known)
  if (known.length !== 1) return null
  if (wrapper === 'array') return arrayType(only)
  return wrapper === 'nullable' ? withNull(only) : only
}

/** Splits at commas outside brackets. */
function splitTypes(text: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let index = 0; index < text.length; index += 1) {
    const letter = text[index]
    if (letter === '(') depth += 1
    if (letter === ')') depth -= 1
    if (letter === ',' && depth === 0) {
      parts.push(text.slice(from, index))
      from = index + 1
    }
  }
  return [...parts, text.slice(from)]
}
