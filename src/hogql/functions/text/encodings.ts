/** ENCODINGS: bit reinterpretation, markup, n-gram distance, the error function. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { bindBool, bindInt, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { arrayType, FLOAT64, type IntBits, intType, isText, STRING } from '../../types/types.ts'
import { asDeclared, type FunctionDef, type Lowering, nonNull, scalar } from '../definition.ts'

/** Reinterprets the bits of an integer, or the first bytes of a text, as an integer of another width. */
function reinterpretBits(name: string, bits: IntBits, signed: boolean): FunctionDef {
  const lower: Lowering = (call) => {
    const [value = NULL_VALUE] = call.args
    const whole = isText(value.type)
      ? sql`ch_bytes_number(${value}, ${bindInt(bits / 8)})`(call.type)
      : sql`ch_wrap(${value}, ${bindInt(widthOf(value))}, false)`(call.type)
    if (bits === 128) return whole
    return sql`ch_wrap(${whole}, ${bindInt(bits)}, ${bindBool(signed)})`(call.type)
  }
  return scalar(name, '1', asDeclared(intType(bits, signed)), lower)
}

/** The width of an integer; bits beyond it are zero. */
function widthOf(value: ResolvedExpr): number {
  return value.type.kind === 'int' && value.type.bits <= 64 ? value.type.bits : 64
}

const WIDTHS: readonly IntBits[] = [8, 16, 32, 64, 128]

function gramsOf(text: ResolvedExpr, size: ResolvedExpr): ResolvedExpr {
  return sql`ch_grams(${text}, ${size})`(arrayType(STRING))
}

/** Similarity of two texts by n-grams of four bytes, or of three characters in the UTF8 forms. */
function ngrams(name: 'ngramDistance' | 'ngramSearch'): readonly FunctionDef[] {
  return ['', 'CaseInsensitive', 'UTF8', 'CaseInsensitiveUTF8'].map((suffix) => {
    const size = bindInt(suffix.endsWith('UTF8') ? 3 : 4)
    const lower: Lowering = (call) => {
      const [left = NULL_VALUE, right = NULL_VALUE] = call.args.map((arg) =>
        suffix.startsWith('Case') ? sql`lower(${arg})`(STRING) : arg,
      )
      return name === 'ngramDistance'
        ? sql`ch_gram_distance(${gramsOf(left, size)}, ${gramsOf(right, size)})`(call.type)
        : sql`ch_gram_search(${gramsOf(left, size)}, ${gramsOf(right, size)})`(call.type)
    }
    return scalar(
      `${name}${suffix}`,
      '2',
      asDeclared({ kind: 'float', bits: 32, nullable: false }),
      lower,
    )
  })
}

/** Encoding functions. Adding one means adding a line. */
export const ENCODINGS: readonly FunctionDef[] = [
  ...WIDTHS.flatMap((bits) => [
    reinterpretBits(`reinterpretAsUInt${bits}`, bits, false),
    reinterpretBits(`reinterpretAsInt${bits}`, bits, true),
  ]),
  ...ngrams('ngramDistance'),
  ...ngrams('ngramSearch'),
  scalar('erf', '1', asDeclared(FLOAT64), 'ch_erf(($1)::DOUBLE)'),
  scalar('erfc', '1', asDeclared(FLOAT64), 'ch_erfc(($1)::DOUBLE)'),
  scalar('decodeXMLComponent', '1', asDeclared(STRING), 'ch_xml_unescape($1)'),
  scalar('extractTextFromHTML', '1', asDeclared(STRING), 'ch_html_text($1)'),
  scalar('arrayAUC|arrayROCAUC', '2', nonNull(FLOAT64), 'ch_auc($1, $2)'),
]
