/**
 * Paths that SDKs can call for products that this server does not have. The refusal carries CORS headers: without them
 * a browser hides the status, the SDK takes the answer for a failure of the network and sends again.
 */
import { Refusal } from '../../errors.ts'
import { answerPreflight } from '../answers/cors.ts'
import type { Endpoint } from '../endpoint.ts'

type AbsentPath = {
  readonly methods: readonly ('GET' | 'POST')[]
  readonly path: string
  /** The product, in the plural. */
  readonly product: string
}

const WIDGET = '/api/conversations/v1/widget'

/** ABSENT_PATHS: a line refuses one more path. SDKs do not repeat a request that is answered 404. */
const ABSENT_PATHS: readonly AbsentPath[] = [
  { methods: ['POST'], path: '/i/v1/logs', product: 'Logs' },
  { methods: ['POST'], path: '/i/v1/metrics', product: 'Metrics' },
  { methods: ['POST'], path: '/i/v1/traces', product: 'Traces' },
  { methods: ['POST'], path: '/i/v0/ai/otel', product: 'Traces' },
  { methods: ['POST'], path: `${WIDGET}/message`, product: 'Conversations' },
  { methods: ['GET'], path: `${WIDGET}/messages/:ticket`, product: 'Conversations' },
  { methods: ['POST'], path: `${WIDGET}/messages/:ticket/read`, product: 'Conversations' },
  { methods: ['POST'], path: `${WIDGET}/restore`, product: 'Conversations' },
  { methods: ['POST'], path: `${WIDGET}/restore/request`, product: 'Conversations' },
  { methods: ['GET'], path: `${WIDGET}/tickets`, product: 'Conversations' },
]

/** Creates the endpoints of ABSENT_PATHS. Their bodies are not read. */
export function absentEndpoints(): readonly Endpoint[] {
  return ABSENT_PATHS.flatMap(({ methods, path, product }) => {
    const answer = (): never => {
      throw new Refusal('not_found', `${product} are not part of this server.`)
    }
    return [
      ...methods.map((method) => ({ method, path, answer })),
      { method: 'OPTIONS', path, answer: answerPreflight },
    ]
  })
}
