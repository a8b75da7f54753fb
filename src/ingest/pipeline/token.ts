/** Validates the form of a project token before it is looked up. */
import { Refusal } from '../../errors.ts'

const TOKEN_LENGTH_MAX = 64

/** A member of JSON that may have a token: the names that requests use, with a text of a token's form. */
const TOKEN_MEMBER = /"(?:\$?token|api_key)"\s*:\s*"\s*([\x21\x23-\x5b\x5d-\x7e]{1,64})\s*"/g
const TOKEN_NAMES = ['"api_key"', '"token"', '"$token"'] as const
/** Members read from the start of a body; properties of events may be called `token` too. */
const MEMBERS_MAX = 1000

/** The token, trimmed. Refuses a missing or malformed one. */
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

/**
 * Refuses a long JSON text without a valid token, without parsing it. `claimed` is the token in the request's query
 * string or form, which takes precedence. Names with JSON escapes are not found.
 */
export function requireNamedToken(
  text: string,
  claimed: string | undefined,
  knowsToken: (token: string) => boolean,
): void {
  if (claimed !== undefined) {
    if (!knowsToken(requireToken(claimed))) throw unknownToken()
    return
  }
  const tokens = new Set<string>()
  let room = MEMBERS_MAX
  for (const [, token = ''] of text.matchAll(TOKEN_MEMBER)) {
    tokens.add(token)
    room -= 1
    if (room === 0) break
  }
  // The envelope may have its token after the events.
  for (const name of room === 0 ? TOKEN_NAMES : []) {
    for (const [, token = ''] of lastMember(text, name).matchAll(TOKEN_MEMBER)) tokens.add(token)
  }
  if (tokens.values().some((token) => knowsToken(token))) return
  requireToken(tokens.values().next().value)
  throw unknownToken()
}

/** The text from the last member of this name on, long enough for a token. */
function lastMember(text: string, name: string): string {
  const start = text.lastIndexOf(name)
  return start === -1 ? '' : text.slice(start, start + LAST_MEMBER_LENGTH)
}

/** Characters of a name, spaces and a token. */
const LAST_MEMBER_LENGTH = 256

/** The refusal of a well-formed token that no project has. */
export function unknownToken(): Refusal {
  return new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'api_key' })
}

function invalid(reason: string): Refusal {
  return new Refusal('invalid_api_key', `Provided API key is not valid: ${reason}`, {
    attr: 'api_key',
  })
}
