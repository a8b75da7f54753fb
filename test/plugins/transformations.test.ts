/** Transformations and logs by themselves: what is located, what a failure does, how much of a log is kept. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Addresses } from '../../src/plugins/addresses.ts'
import { createPluginConfig, type PluginConfig } from '../../src/plugins/plugin-config.ts'
import { addLogEntry, listLogEntries, trimLog } from '../../src/plugins/plugin-log.ts'
import {
  compileTransformations,
  takeTallies,
  transform,
} from '../../src/plugins/transformations.ts'
import { createFirstThings } from '../../src/projects/bootstrap.ts'
import { type Control, openControl } from '../../src/storage/control/control-db.ts'

const row = (plugin_id: number, config: object = {}, enabled = true) => ({
  id: plugin_id,
  plugin_id,
  enabled,
  config: JSON.stringify(config),
})

describe('transformations', () => {
  test.each([
    ['no configuration', [], true],
    ['GeoIP switched off', [row(1, {}, false)], false],
    ['GeoIP switched on', [row(1)], true],
    ['one of two switched on', [row(1, {}, false), row(1)], true],
    ['another plugin switched off', [row(5, {}, false)], true],
  ])('with %s, events are located: %p', (_what, rows, is_located) => {
    expect(compileTransformations(rows).is_located).toBe(is_located)
  })

  test('that are off, unknown or destinations do nothing', () => {
    const rows = [row(3, { events: ['a'] }, false), row(99), row(6, { url: 'https://a.example' })]
    expect(compileTransformations(rows).steps).toEqual([])
  })

  test('that fail are told of, and leave the event to the next', () => {
    const all = compileTransformations([row(2, { properties: ['a'] }), row(5)])
    const properties = Object.freeze({ a: 1 })
    expect(transform(all, { event: 'e', properties, person: [] })).toBe(true)
    expect(takeTallies(all)).toEqual([
      expect.objectContaining({
        plugin_config_id: 2,
        handled: 1,
        error: expect.stringContaining('TypeError'),
      }),
      { plugin_config_id: 5, handled: 1, changed: 0, dropped: 0, error: null },
    ])
    expect(takeTallies(all)).toEqual([])
  })

  test.each([
    ['HTTPS://A.Example/B/', false, 'https://a.example/b'],
    ['https://a.example/b/?Q=1#H', false, 'https://a.example/b?Q=1#H'],
    ['https://a.example/b/?Q=1#H', true, 'https://a.example/b'],
    ['https://', false, 'https://'],
    ['', false, ''],
  ])('write %p (query dropped: %p) as %p', (before, drop_query, after) => {
    const properties = { $current_url: before }
    transform(compileTransformations([row(4, { drop_query })]), {
      event: 'e',
      properties,
      person: [],
    })
    expect(properties.$current_url).toBe(after)
  })
})

describe('a log', () => {
  const NOW = new Date('2026-01-10T00:00:00Z')
  let data_dir = ''
  let control: Control
  let config: PluginConfig
  beforeEach(() => {
    data_dir = mkdtempSync(join(tmpdir(), 'tidemark-plugins-'))
    control = openControl(data_dir)
    const first = createFirstThings(control.db, { api_token: null, personal_api_key: null }, NOW)
    const project = { id: 1, organization_id: first?.organization_id ?? '' }
    const actor = { user_id: 1, project, addresses: new Addresses() }
    config = createPluginConfig(control.db, actor, { plugin_id: 5, seq: 0 }, NOW)
  })
  afterEach(() => {
    control.close()
    rmSync(data_dir, { recursive: true, force: true })
  })

  const add = (message: string, at: Date) =>
    addLogEntry(control.db, config, { source: 'CONSOLE', type: 'DEBUG', message }, at)
  const total = () =>
    listLogEntries(control.db, {
      plugin_config_id: config.id,
      after: null,
      before: null,
      search: null,
      types: [],
      limit: 1,
      offset: 0,
    })

  test('keeps a week, and the newest ten thousand entries', () => {
    add('n 0', NOW)
    control.db.run(`insert into plugin_logs
      (id, project_id, plugin_id, plugin_config_id, timestamp, source, type, message, instance_id)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10099)
      select 'id', project_id, plugin_id, plugin_config_id, timestamp, source, type, 'n ' || n, 'i'
      from numbers, plugin_logs where message = 'n 0' order by n`)
    trimLog(control.db, config.id, NOW)
    expect(total()).toMatchObject({ total: 10_000, results: [{ message: 'n 10099' }] })
    trimLog(control.db, config.id, new Date('2026-01-17T00:00:00.001Z'))
    expect(total().total).toBe(0)
  })

  test('cuts long messages and keeps them well-formed', () => {
    add(`${'x'.repeat(20_000)}\ud800`, NOW)
    add('\ud800', NOW)
    expect(total().results).toMatchObject([{ message: '\ufffd' }])
  })
})
