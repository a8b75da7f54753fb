/** Default test account filters of a new project, which exclude its own staff from insights. */

/** Excludes events of a developer's machine. */
const OWN_MACHINE = {
  key: '$host',
  operator: 'not_regex',
  value: String.raw`^(localhost|127\.0\.0\.1)($|:)`,
  type: 'event',
}

/** A property filter in the form of queries. */
type TestAccountFilter = {
  readonly key: string
  readonly operator: string
  readonly value: string
  readonly type: string
}

/** Public mail domains, which identify no company. */
const PUBLIC_DOMAINS: ReadonlySet<string> = new Set([
  'aol.com',
  'duck.com',
  'fastmail.com',
  'gmail.com',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hey.com',
  'hotmail.com',
  'icloud.com',
  'live.com',
  'mac.com',
  'mail.com',
  'mail.ru',
  'me.com',
  'msn.com',
  'naver.com',
  'outlook.com',
  'pm.me',
  'proton.me',
  'protonmail.com',
  'qq.com',
  'web.de',
  'yahoo.co.uk',
  'yahoo.com',
  'yandex.ru',
  'ymail.com',
  '163.com',
  '126.com',
])

/** A domain after the last @, with a dot. */
const DOMAIN = /@([a-z0-9-]+(?:\.[a-z0-9-]+)+)$/

/** The filters of a new project; the creator's address excludes colleagues too. */
export function testAccountFilters(email: string | null): TestAccountFilter[] {
  const domain = DOMAIN.exec((email ?? '').toLowerCase())?.[1]
  if (domain === undefined || PUBLIC_DOMAINS.has(domain)) return [OWN_MACHINE]
  const colleagues = {
    key: 'email',
    type: 'person',
    operator: 'not_icontains',
    value: `@${domain}`,
  }
  return [OWN_MACHINE, colleagues]
}
