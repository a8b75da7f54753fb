/** Checks the shape of a project key before anybody looks it up. */
import { Refusal } from '../../errors.ts'

const TOKEN_LENGTH_MAX = 64

/** Where JSON may name a token: the members that requests put it in, with any text that could be one. */
const NAMED = /"(?:\$?token|api_key)"\s*:\s*"\s*([\x21\x23-\x5b\x5d-\x7e]{1,64})\s*"/g
const NAMES = ['"api_key"', '"token"', '"$token"'] as const
/** Members that are looked at from the start of a body on; properties of events may be called token too. */
const MEMBERS_MAX = 1000

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

/**
 * Refuses a long JSON text that names no token of a project, without parsing it. `claimed` is the token that its
 * request names beside it, which then is the only one that counts. A member is found by the plain spelling of its name.
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
  const named = new Set<string>()
  let room = MEMBERS_MAX
  for (const [, token = ''] of text.matchAll(NAMED)) {
    named.add(token)
    room -= 1
    if (room === 0) break
  }
  // A request's own token may come after all of its events.
  for (const name of room === 0 ? NAMES : []) {
    for (const [, token = ''] of lastMember(text, name).matchAll(NAMED)) named.add(token)
  }
  if (named.values().some((token) => knowsToken(token))) return
  requireToken(named.values().next().value)
  throw unknownToken()
}

/** The last member of a name, as far as its value can be a token. */
function lastMember(text: string, name: string): string {
  const start = text.lastIndexOf(name)
  return start === -1 ? '' : text.slice(start, start + LAST_MEMBER_LENGTH)
}

/** Characters of a name, blanks and a token. */
const LAST_MEMBER_LENGTH = 256

/** The token is well-formed, but no project has it. */
export function unknownToken(): Refusal {
  return new Refusal('invalid_api_key', 'Project API key is not valid.', { attr: 'api_key' })
}

function invalid(reason: string): Refusal {
  return new Refusal('invalid_api_key', `Provided API key is not valid: ${reason}`, {
    attr: 'api_key',
  })
}
