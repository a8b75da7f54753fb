/** Endpoints for the operator of the machine, without a personal API key: list the running queries, cancel one. */
import { timingSafeEqual } from 'node:crypto'
import { Refusal } from '../errors.ts'
import { answerJson } from './answers/answers.ts'
import type { AppContext } from './app-context.ts'
import type { Endpoint } from './endpoint.ts'
import { bearerOf } from './route.ts'

/**
 * Creates the endpoints. The key is made at each start and stored in the data folder (`storage/process/lock.ts`), so that
 * only users who can read all data anyway know it. Other callers get 404.
 */
export function operatorEndpoints(app: AppContext): readonly Endpoint[] {
  const requireOperator = (request: Request): void => {
    if (isOperator(request, app.operator_key)) return
    throw new Refusal('not_found', 'Endpoint not found.')
  }
  return [
    {
      method: 'GET',
      path: '/_questions',
      answer(request) {
        requireOperator(request)
        return answerJson({ results: app.query_service.listRunning() })
      },
    },
    {
      method: 'DELETE',
      path: '/_questions/:id',
      answer(request, { id }) {
        requireOperator(request)
        if (app.query_service.cancelRunning(id ?? '')) return new Response(null, { status: 204 })
        throw new Refusal('not_found', 'No such query runs.')
      },
    },
  ]
}

/** Whether a request has the operator's key as its bearer token. Compares in constant time. */
export function isOperator(request: Request, operator_key: string): boolean {
  const key = Buffer.from(bearerOf(request) ?? '')
  const expected = Buffer.from(operator_key)
  return key.length === expected.length && timingSafeEqual(key, expected)
}
