/** The table of a front: what is wrong in it is named, and nothing of it can add to a configuration. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkRouteTable } from '../../../src/cli/clickhouse/route-table.ts'
import { run } from '../command.ts'

const HOMES = { rome: 'http://10.0.0.1:8000', oslo: 'http://[fd00::2]' }
const shop = { id: 7, token: 'phc_shop', home: 'rome' }

test('a table is read with the ports of its homes', () => {
  const table = { homes: HOMES, projects: [shop], default: 'oslo' }
  expect(checkRouteTable(table, 'homes.json')).toEqual({
    homes: [
      { name: 'rome', address: '10.0.0.1:8000' },
      { name: 'oslo', address: '[fd00::2]:80' },
    ],
    projects: [shop],
    default_home: 'oslo',
  })
})

/** Tables that are refused, and the member that is named. */
const WRONG: readonly (readonly [object | null, string])[] = [
  [null, 'the table must be an object'],
  [{ homes: {}, projects: [] }, 'homes must have 1 to 1000 members'],
  [{ homes: HOMES }, 'projects must be a list'],
  [{ homes: HOMES, projects: [], defualt: 'rome' }, 'defualt is not known'],
  [{ homes: HOMES, projects: [], default: 'paris' }, 'default must name one of the homes'],
  [{ homes: { 'a;}': 'http://a' }, projects: [] }, 'homes.a;} must be named by'],
  [{ homes: { a: 'http://a;}' }, projects: [] }, 'homes.a must be an address'],
  [{ homes: { a: 'https://a' }, projects: [] }, 'homes.a must be an address'],
  [{ homes: { a: 'http://a:99999' }, projects: [] }, 'homes.a must be an address'],
  [{ homes: HOMES, projects: [shop, 7] }, 'projects[1] must be an object'],
  [{ homes: HOMES, projects: [{ ...shop, id: '7' }] }, 'projects[0].id must be the number'],
  [{ homes: HOMES, projects: [{ ...shop, id: 0 }] }, 'projects[0].id must be the number'],
  [
    { homes: HOMES, projects: [{ ...shop, token: 'phc_{' }] },
    'projects[0].token must be the token',
  ],
  [
    { homes: HOMES, projects: [{ ...shop, token: 'batch' }] },
    'projects[0].token must be the token',
  ],
  [{ homes: HOMES, projects: [{ ...shop, home: 'paris' }] }, 'projects[0].home must name one'],
  [{ homes: HOMES, projects: [shop, shop] }, 'projects[1].id 7 is there twice'],
  [
    { homes: HOMES, projects: [shop, { ...shop, id: 8 }] },
    'projects[1].token phc_shop is there twice',
  ],
]

describe('a table is refused by the name of what is wrong', () => {
  test.each(WRONG)('%j: %s', (table, message) => {
    expect(() => checkRouteTable(table, 'homes.json')).toThrow(`homes.json: ${message}`)
  })
})

test('the command says what it misses, and exits with 2', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-routes-'))
  const torn = join(folder, 'torn.json')
  writeFileSync(torn, '{"homes": {')
  const [missing, unreadable, no_proxy, no_site] = await Promise.all([
    run(['clickhouse', 'routes', '--table', join(folder, 'none.json'), '--for', 'nginx']),
    run(['clickhouse', 'routes', '--table', torn, '--for', 'caddy']),
    run(['clickhouse', 'routes', '--table', torn, '--for', 'apache']),
    run(['clickhouse', 'routes', '--table', torn, '--for', 'nginx', '--site', 'a;b']),
  ])
  rmSync(folder, { recursive: true, force: true })
  expect(
    [missing, unreadable, no_proxy, no_site].map(({ exit_code, out }) => [exit_code, out]),
  ).toEqual(Array.from({ length: 4 }, () => [2, '']))
  expect(missing.err).toContain('none.json cannot be read as JSON')
  expect(unreadable.err).toContain('torn.json cannot be read as JSON')
  expect(no_proxy.err).toContain('Allowed choices are caddy, nginx')
  expect(no_site.err).toContain('It is not the name of a host.')
})
