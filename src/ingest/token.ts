/** Checks the shape of a project key before anybody looks it up (wire.md 1.5). */
import { Refusal } from '../errors.ts'

const TOKEN_LENGTH_MAX = 64

/** The token, trimmed. Refuses when it is missing or cannot be one. */
export function requireToken(token: unknown): string {
  if (token === undefined || token === null) {
    throw new Refusal(
      'missing_api_key',
      'API key not provided. You can find your project API key in the project settings.',
      { attr: 'api_key' },
    )
  }
  if (typeof token !== 'string') throw invalid('not_string')
  const bare = token.trim()
  if (bare === '') throw invalid('empty')
  if (bare.length > TOKEN_LENGTH_MAX) throw invalid('too_long')
  if (!/^[\x21-\x7e]+$/.test(bare)) throw invalid('not_ascii')
  if (bare.startsWith('phx_')) throw invalid('personal_api_key')
  return bare
}

/** The token is well-formed, but no project has it. */
export function unknownToken(): Refusal {
  return new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'api_key' })
}

function invalid(reason: string): Refusal {
  return new Refusal('invalid_api_key', `Provided API key is not valid: ${reason}`, {
    attr: 'api_key',
  })
}
