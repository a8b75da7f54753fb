/** Parsers of settings: each returns the value, or the reason why the text is invalid. */
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { isNetwork } from '../networks.ts'

/** The result of a parser. A reason continues a sentence that begins with the setting's name. */
export type SettingValue<T> = { readonly value: T } | { readonly reason: string }

/** A word. */
export function readWord(text: string): SettingValue<string> {
  return /^\S+$/.test(text) ? { value: text } : { reason: 'must be one word' }
}

/** A name of letters, digits, dots, hyphens and underscores; an empty text gives the default, made such a name. */
export function readLabel(fallback: string): (text: string) => SettingValue<string> {
  const usual = fallback.replaceAll(/[^\w.-]/g, '-').slice(0, 64)
  return (text) => {
    if (text === '') return { value: usual === '' ? 'edge' : usual }
    if (/^[\w.-]{1,64}$/.test(text)) return { value: text }
    return { reason: 'must be 1 to 64 letters, digits, dots, hyphens and underscores' }
  }
}

/** A word; null for an empty text. */
export function readWordOrNothing(text: string): SettingValue<string | null> {
  return text === '' ? { value: null } : readWord(text)
}

/** A folder as an absolute path. */
export function readFolder(text: string): SettingValue<string> {
  return text === '' ? { reason: 'must name a folder' } : { value: resolve(text) }
}

/** An existing file or folder as an absolute path; null for an empty text. */
export function readPathOrNothing(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  const path = resolve(text)
  return existsSync(path) ? { value: path } : { reason: `must exist, and ${path} does not` }
}

/** `auto`, `off`, or an existing program as an absolute path. */
export function readProgram(text: string): SettingValue<string> {
  if (text === 'auto' || text === 'off') return { value: text }
  const path = resolve(text)
  if (existsSync(path)) return { value: path }
  return { reason: `must be auto, off or an existing program, and ${path} does not exist` }
}

/** A whole number within inclusive bounds. */
export function wholeNumber(min: number, max: number): (text: string) => SettingValue<number> {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return { value }
    return { reason: `must be a whole number from ${min} to ${max}, not ${quote(text)}` }
  }
}

/** A number of threads; 0 means one per processor core. */
export function readThreads(text: string): SettingValue<number> {
  const reading = wholeNumber(0, 1024)(text)
  return 'value' in reading && reading.value === 0 ? { value: availableParallelism() } : reading
}

/** One of some words. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
): (text: string) => SettingValue<Word> {
  return (text) => {
    const value = words.find((word) => word === text)
    if (value !== undefined) return { value }
    return { reason: `must be one of ${words.join(', ')}, not ${quote(text)}` }
  }
}

/** An http or https URL without a final slash; null for an empty text. */
export function readUrlOrNothing(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return { reason: `must be an http or https address, not ${quote(text)}` }
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '') {
    return { reason: 'must be a plain address: no query string, fragment or user name' }
  }
  const address = `${url.origin}${url.pathname}`
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return { value: address.slice(0, end) }
}

/** An https URL as it is. */
export function readDirectory(text: string): SettingValue<string> {
  if (URL.parse(text)?.protocol === 'https:') return { value: text }
  return { reason: `must be an https address, not ${quote(text)}` }
}

/** The most names that an authority puts into one certificate. */
const DOMAINS_MAX = 100

/** Names of hosts, comma-separated, in lower case. */
export function readDomains(text: string): SettingValue<readonly string[]> {
  const names = text.split(',').map((part) => part.trim().toLowerCase())
  const given = [...new Set(names.filter((name) => name !== ''))]
  if (given.length > DOMAINS_MAX) return { reason: `must list at most ${DOMAINS_MAX} names` }
  const wrong = given.filter((name) => !isHostName(name))
  if (wrong.length === 0) return { value: given }
  const why = 'a wildcard, an address, or a name that is not in ASCII (xn--)'
  return { reason: `must list names of hosts, not ${why}: ${wrong.map(quote).join(', ')}` }
}

function isHostName(name: string): boolean {
  const labels = name.split('.')
  const is_address = /^\d+$/.test(labels.at(-1) ?? '')
  if (is_address || name.length > 253) return false
  return labels.every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
}

/** The word `accepted`; false for an empty text. */
export function readAcceptance(text: string): SettingValue<boolean> {
  if (text === '') return { value: false }
  if (text === 'accepted') return { value: true }
  return { reason: `must be the word accepted, or empty, not ${quote(text)}` }
}

/** A path as /a/b without a final slash; an empty text or a slash is ''. */
export function readBasePath(text: string): SettingValue<string> {
  const path = text.endsWith('/') ? text.slice(0, -1) : text
  if (path === '' || (path.length <= 200 && /^(?:\/[\w-]+)+$/.test(path))) return { value: path }
  return { reason: `must be a path of letters, digits, - and _, as /tidemark, not ${quote(text)}` }
}

/** Addresses and networks, comma-separated. */
export function readNetworks(text: string): SettingValue<readonly string[]> {
  const networks = text.split(',').map((part) => part.trim())
  const given = networks.filter((network) => network !== '')
  const wrong = given.filter((network) => !isNetwork(network))
  if (wrong.length === 0) return { value: given }
  return { reason: `must list addresses or networks, and ${wrong.map(quote).join(', ')} is none` }
}

/** A project token in the form that ingestion accepts, so that a preset one is not refused later; null if empty. */
export function readProjectToken(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  if (text.startsWith('phx_')) return { reason: 'must not be a personal API key' }
  if (/^[\x21-\x7e]{1,64}$/.test(text)) return { value: text }
  return { reason: 'must be 1 to 64 characters of ASCII without blanks' }
}

/** Characters of a preset personal key, and different ones among them: 20 random letters and digits are 119 bits. */
const KEY_LENGTH_MIN = 20
const KEY_LETTERS_MIN = 8

/**
 * A personal API key that is too long to guess; null if empty. It is stored as a plain hash, so its length is the only
 * protection against a reader of the database.
 */
export function readPersonalKey(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  if (!/^[\x21-\x7e]{1,200}$/.test(text)) {
    return { reason: 'must be at most 200 characters of ASCII without blanks' }
  }
  if (text.length < KEY_LENGTH_MIN) {
    const why = 'a shorter key can be guessed: take what "openssl rand -hex 24" prints'
    return { reason: `must have at least ${KEY_LENGTH_MIN} characters: ${why}` }
  }
  if (new Set(text).size >= KEY_LETTERS_MIN) return { value: text }
  return { reason: `must have at least ${KEY_LETTERS_MIN} different characters: it can be guessed` }
}

/** An email address; null if empty. */
export function readEmailOrNothing(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  if (text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text)) return { value: text }
  return { reason: `must be an email address, not ${quote(text)}` }
}

/** A password, whose strength is checked where it is hashed; null if empty. */
export function readPasswordOrNothing(text: string): SettingValue<string | null> {
  if (text === '') return { value: null }
  return text.length <= 200 ? { value: text } : { reason: 'must have at most 200 characters' }
}

const quote = (text: string): string => JSON.stringify(text.slice(0, 100))
