/** PUT /_clock: sets the clock of an ephemeral server. Other servers have no such path. */
import { t } from 'elysia'
import { Refusal } from '../errors.ts'
import { answerJson } from './answers/answers.ts'
import type { AppContext } from './app-context.ts'
import { readBody } from './bodies/body.ts'
import { validatorOf } from './bodies/shape.ts'
import { readTimestamp } from './bodies/timestamps.ts'
import type { Endpoint } from './endpoint.ts'
import { getKeyCaller } from './route.ts'

/** Times outside are refused: the query language has no later ones, and SDKs send no earlier ones. */
const YEAR_MIN = 1970
const YEAR_MAX = 2200

const CLOCK_BODY = validatorOf(t.Object({ now: t.Union([t.String({ maxLength: 64 }), t.Null()]) }))

/** The endpoint, which takes a personal API key and answers with the new time. */
export function clockEndpoints(app: AppContext): readonly Endpoint[] {
  const { clock } = app
  if (clock === undefined) return []
  return [
    {
      method: 'PUT',
      path: '/_clock',
      answer: async (request, _params, socket) => {
        getKeyCaller(app, request, socket)
        const { now } = await readBody(app.bodies, request, CLOCK_BODY, socket)
        clock.set(now === null ? null : readTime(now))
        return answerJson({ now: clock.now().toISOString() })
      },
    },
  ]
}

function readTime(text: string): Date {
  const time = readTimestamp(text)
  const year = time?.getUTCFullYear() ?? 0
  if (time !== null && year >= YEAR_MIN && year <= YEAR_MAX) return time
  const detail = `Expected a time in ISO 8601 between the years ${YEAR_MIN} and ${YEAR_MAX}.`
  throw new Refusal('invalid_input', detail, { attr: 'now' })
}
