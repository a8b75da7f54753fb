/** Survey macros: events store an answer by its question's id; older ones by its index. */

import type * as ast from '../../syntax/ast.ts'
import { and, call, compare, constant, field } from '../../syntax/nodes.ts'
import { expr, select } from '../../template.ts'
import { refuse } from '../refusals.ts'

const PROPERTIES = field(['properties'])

/** `getSurveyResponse(index, id, multiple)`: the text of an answer, or the list of choices. */
export function surveyResponse(node: ast.Call): ast.Expr {
  const [at, id, multiple] = node.args
  const index = indexOf(at, node)
  const by_index = constant(index === 0n ? '$survey_response' : `$survey_response_${index}`)
  const by_id = keyById(index, id, node)
  const keys = [by_id, by_index]
  if (multiple !== undefined && isTrue(multiple, node)) return chooseAnswer(by_id, by_index)
  const texts = keys.map((key) => call('nullIf', [textAt(key), constant('')]))
  return call('coalesce', texts, node)
}

function indexOf(at: ast.Expr | undefined, node: ast.Call): bigint {
  const value = at?.kind === 'Constant' ? at.value : null
  if (typeof value === 'bigint' && value >= 0n) return value
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return BigInt(value)
  throw refuse('getSurveyResponse needs the place of the question as a whole number', node)
}

/** The literal id, or the id that the event itself gives for the question at that index. */
function keyById(index: bigint, id: ast.Expr | undefined, node: ast.Call): ast.Expr {
  const known = id?.kind === 'Constant' ? id.value : null
  if (typeof known === 'string' && known !== '') return constant(`$survey_response_${known}`)
  if (id !== undefined && known !== null && known !== '') {
    throw refuse('getSurveyResponse needs the id of the question as a text', node)
  }
  const query = call('arrayElement', [listAt(constant('$survey_questions')), constant(index + 1n)])
  return call('concat', [
    constant('$survey_response_'),
    call('JSONExtractString', [query, constant('id')]),
  ])
}

function isTrue(node: ast.Expr, at: ast.Call): boolean {
  const value = node.kind === 'Constant' ? node.value : null
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value !== 0n
  throw refuse('getSurveyResponse needs true or false for several choices', at)
}

/** A property's text. A property with a constant name is read alone, without the others. */
function textAt(key: ast.Expr): ast.Expr {
  const name = key.kind === 'Constant' && typeof key.value === 'string' ? key.value : null
  if (name === null) return call('JSONExtractString', [PROPERTIES, key])
  return call('toString', [field(['properties', name])])
}

function listAt(key: ast.Expr): ast.Expr {
  if (key.kind !== 'Constant') return call('JSONExtractArrayRaw', [PROPERTIES, key])
  return call('JSONExtractArrayRaw', [call('ifNull', [textAt(key), constant('')])])
}

function chooseAnswer(by_id: ast.Expr, by_index: ast.Expr): ast.Expr {
  return call('if', [call('notEmpty', [listAt(by_id)]), listAt(by_id), listAt(by_index)])
}

const SUBMISSION = expr`if(coalesce(properties.$survey_submission_id, '') = '', toString(uuid), properties.$survey_submission_id)`

/** `uniqueSurveySubmissionsFilter(id, from, to)`: of each submission's events only the last one. */
export function uniqueSubmissions(node: ast.Call): ast.Expr {
  const [id, from, to] = node.args
  if (node.args.some((arg) => arg.kind !== 'Constant')) {
    throw refuse('uniqueSurveySubmissionsFilter needs constants', node)
  }
  const timestamp = field(['timestamp'])
  const conditions = [
    compare(field(['event']), '==', constant('survey sent')),
    compare(field(['properties', '$survey_id']), '==', id ?? constant(null)),
    ...(from === undefined ? [] : [compare(timestamp, '>=', from)]),
    ...(to === undefined ? [] : [compare(timestamp, '<=', to)]),
  ]
  const last = {
    ...select`select argMax(uuid, timestamp) from events group by ${SUBMISSION}`,
    where: and(conditions),
  }
  return expr`uuid in ${last}`
}
