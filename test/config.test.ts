/** Settings: what is read from where, and how wrong ones are told. */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ConfigError, listUnknownVariables, readConfig, SETTINGS } from '../src/config.ts'

const faultsOf = (
  flags: Record<string, string>,
  env: Record<string, string> = {},
): readonly string[] => {
  try {
    readConfig(flags, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

describe('settings', () => {
  test('have defaults that need nothing set', () => {
    const config = readConfig({}, {})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8000,
      data_dir: join(process.cwd(), 'data'),
      public_url: null,
      trusted_proxies: [],
      body_bytes_max: 20_971_520,
      query_timeout_s: 60,
      query_rows_max: 50_000,
      dedup_days: 30,
      bootstrap_api_token: null,
      bootstrap_personal_api_key: null,
    })
    expect(config.query_threads).toBeGreaterThan(0)
  })

  test('are read from the environment, and flags win over it', () => {
    const env = { TIDEMARK_PORT: '9000', TIDEMARK_HOST: '0.0.0.0', TIDEMARK_LOG_LEVEL: '' }
    expect(readConfig({ port: '9001' }, env)).toMatchObject({
      port: 9001,
      host: '0.0.0.0',
      log_level: 'info',
    })
  })

  test('of certificates by ACME are names of hosts, an agreement and an https address', () => {
    const env = { TIDEMARK_ACME_DOMAINS: 'A.example.org, b.example.org,a.example.org' }
    expect(readConfig({}, env)).toMatchObject({
      acme_domains: ['a.example.org', 'b.example.org'],
      acme_terms: false,
      acme_http_port: 80,
    })
    for (const domains of ['*.example.org', '10.0.0.1', 'bücher.example', 'a..b', '-a.b', 'a:80']) {
      const faults = faultsOf({ acme_domains: domains })
      expect(faults).toEqual([expect.stringContaining('--acme-domains must list names of hosts')])
    }
    const many = Array.from({ length: 101 }, (_, index) => `h${index}.test`).join(',')
    expect(faultsOf({ acme_domains: many })).toEqual(['--acme-domains must list at most 100 names'])
    expect(faultsOf({ acme_terms: 'yes', acme_directory: 'http://ca.test' })).toEqual([
      '--acme-terms must be the word accepted, or empty, not "yes"',
      '--acme-directory must be an https address, not "http://ca.test"',
    ])
  })

  test('allow no more flags than a request may evaluate in 50 ms', () => {
    expect(readConfig({ flags_max: '10000' }, {}).flags_max).toBe(10_000)
    expect(faultsOf({}, { TIDEMARK_FLAGS_MAX: '20000' })).toEqual([
      'TIDEMARK_FLAGS_MAX must be a whole number from 1 to 10000, not "20000": a request of an SDK evaluates all of them in one turn of the server',
    ])
  })

  test('that are wrong are told all at once, each with its name and reason', () => {
    const env = {
      TIDEMARK_PORT: 'tcp://10.0.0.1:8000',
      TIDEMARK_TRUSTED_PROXIES: '10.0.0.0/8, 10.0.0.0/33, proxy',
      TIDEMARK_PUBLIC_URL: 'example.org',
      TIDEMARK_BOOTSTRAP_API_TOKEN: 'phx_0123456789',
    }
    expect(faultsOf({ query_timeout_s: '0' }, env)).toEqual([
      'TIDEMARK_PORT must be a whole number from 0 to 65535, not "tcp://10.0.0.1:8000"',
      'TIDEMARK_PUBLIC_URL must be an http or https address, not "example.org"',
      'TIDEMARK_TRUSTED_PROXIES must list addresses or networks, and "10.0.0.0/33", "proxy" is none',
      '--query-timeout-s must be a whole number from 1 to 3600, not "0"',
      'TIDEMARK_BOOTSTRAP_API_TOKEN must not be a personal API key',
    ])
  })

  test.each([
    ['port', '65536'],
    ['port', '-1'],
    ['port', '80.5'],
    ['port', '0x50'],
    ['host', 'two words'],
    ['log_level', 'loud'],
    ['public_url', 'ftp://example.org'],
    ['public_url', 'https://example.org/?a=1'],
    ['body_bytes_max', '20MB'],
    ['geoip_database', '/nowhere/city.mmdb'],
  ])('refuse %s = %p', (key, text) => {
    expect(faultsOf({ [key]: text })).toHaveLength(1)
  })

  test('keep backups outside of the data folder, where unknown files are deleted', () => {
    const start = (data_dir: string, to: string) => () =>
      readConfig({ data_dir }, { TIDEMARK_BACKUP_TO: to })
    for (const to of ['/srv/data', '/srv/data/', '/srv/data/backups', '/srv/data/../data/x']) {
      expect(start('/srv/data', to)).toThrow(
        'TIDEMARK_BACKUP_TO must name a store outside of the data folder /srv/data',
      )
    }
    for (const to of ['/srv/data-backups', '/srv', 's3://acme-backups/data']) {
      expect(start('/srv/data', to)).not.toThrow()
    }
  })

  test('are read into what the code needs', () => {
    const flags = {
      public_url: 'https://example.org/a/',
      trusted_proxies: '10.0.0.0/8,::1',
      data_dir: '/var/lib/tidemark',
      port: '0',
    }
    expect(readConfig(flags, {})).toMatchObject({
      public_url: 'https://example.org/a',
      trusted_proxies: ['10.0.0.0/8', '::1'],
      data_dir: '/var/lib/tidemark',
      port: 0,
    })
  })

  test.each([
    ['phx_short', 'at least 20 characters'],
    ['nineteen_characters', 'at least 20 characters'],
    ['a'.repeat(40), 'at least 8 different characters'],
    ['1234512345123451234512345', 'at least 8 different characters'],
    ['twenty characters or more', 'without blanks'],
  ])('refuse the personal key %p, which can be guessed, by name', (key, why) => {
    const env = { TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: key }
    const [fault = '', ...others] = faultsOf({}, env)
    expect(others).toEqual([])
    expect(fault).toStartWith('TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY must')
    expect(fault).toContain(why)
    expect(fault).not.toContain(key)
  })

  test('never repeat a preset key when they refuse it', () => {
    const key = 'phx_short\u00e9verysecret'
    expect(faultsOf({}, { TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: key }).join()).not.toContain(
      'secret',
    )
  })

  test('are named after their key everywhere', () => {
    for (const { key, env, flag, help } of SETTINGS) {
      expect<string>(env).toBe(`TIDEMARK_${key.toUpperCase()}`)
      expect(flag === null || flag.startsWith(`--${key.replaceAll('_', '-')} <`)).toBe(true)
      expect(help).not.toBe('')
    }
  })

  test('that do not exist are noticed', () => {
    const env = { TIDEMARK_PROT: '1', TIDEMARK_PORT: '2', PATH: '/bin' }
    expect(listUnknownVariables(env)).toEqual(['TIDEMARK_PROT'])
  })
})
