/** `tidemark metrics`: every figure that the dashboard and the alert rules name is one of the server's. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printAlertRules } from '../../src/cli/monitoring/alert-rules.ts'
import { printDashboard } from '../../src/cli/monitoring/dashboard.ts'
import { EDGE_METRICS } from '../../src/http/edges/edge-health.ts'
import { METRICS, printPage } from '../../src/http/metrics/metrics.ts'
import { STANDBY_METRICS } from '../../src/http/standby/standby-health.ts'
import { askUntil } from '../flows/clients/patience.ts'
import { freePort } from '../flows/processes/server.ts'
import { openWorld, type World } from '../http/world.ts'
import { run } from './command.ts'

/** Debian's package `prometheus` has both. */
const PROMTOOL = '/usr/bin/promtool'
const PROMETHEUS = '/usr/bin/prometheus'

type Rule = { readonly alert: string; readonly expr: string; readonly for: string }
type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
type DashboardPanel = {
  readonly type: string
  readonly title: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string }[]
}

const rules = (Bun.YAML.parse(printAlertRules('my "job"')) as Rules).groups[0]?.rules ?? []
const { panels }: { readonly panels: readonly DashboardPanel[] } = JSON.parse(printDashboard())
const panelQueries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** Names of figures in a text, without what a histogram's lines add. */
function namesIn(text: string): ReadonlySet<string> {
  const names = text.match(/\btidemark_\w+/g) ?? []
  return new Set(names.map((name) => name.replace(/_(bucket|count|sum)$/, '')))
}

/** A world in which something of everything has happened. */
async function openBusyWorld(): Promise<World> {
  const world = await openWorld()
  const event = { event: 'e', distinct_id: 'd' }
  const body = JSON.stringify({
    api_key: world.first.api_token,
    batch: [event, { event: 'nobody' }],
  })
  await world.send('/batch/', { method: 'POST', body })
  return world
}

test('the dashboard and the rules name no figure that the server does not have', async () => {
  await using world = await openBusyWorld()
  const known = new Set<string>([...EDGE_METRICS, ...STANDBY_METRICS].map(({ name }) => name))
  const page = printPage(METRICS, world.needs)
  for (const [, name] of page.matchAll(/^# TYPE (\w+)/gm)) known.add(name ?? '')
  const named = namesIn([...panelQueries, ...rules.map(({ expr }) => expr)].join(' '))
  expect([...named].filter((name) => !known.has(name))).toEqual([])
  expect(named.size).toBeGreaterThan(15)
})

test('the rules are of the scrape job, and each says what to do', () => {
  expect(rules.length).toBeGreaterThan(10)
  for (const { alert, expr } of rules)
    expect([alert, expr]).toEqual([alert, expect.stringContaining('job="my \\"job\\""')])
})

test('no panel of the dashboard lies on another one', () => {
  const taken = new Set<string>()
  for (const { gridPos } of panels) {
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x}/${y}`)).toBe(false)
        taken.add(`${x}/${y}`)
      }
    }
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  }
})

test('the command prints one of the two, and says so when it is not told which', async () => {
  expect(JSON.parse((await run(['metrics', '--dashboard'])).out)).toEqual(
    JSON.parse(printDashboard()),
  )
  expect((await run(['metrics', '--alerts'])).out).toBe(printAlertRules('tidemark'))
  const neither = await run(['metrics'])
  expect([neither.exit_code, neither.err]).toEqual([2, expect.stringContaining('--dashboard')])
})

describe.skipIf(!existsSync(PROMETHEUS))('a real Prometheus', () => {
  test('takes the rules and the page, and answers every panel', async () => {
    await using world = await openBusyWorld()
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-prometheus-'))
    const rules_path = join(folder, 'tidemark.rules.yml')
    writeFileSync(rules_path, printAlertRules('tidemark'))
    expect(Bun.spawnSync([PROMTOOL, 'check', 'rules', rules_path]).exitCode).toBe(0)
    const page = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () =>
        new Response(printPage(METRICS, world.needs), {
          headers: { 'Content-Type': 'text/plain' },
        }),
    })
    const config_path = join(folder, 'prometheus.yml')
    writeFileSync(
      config_path,
      `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [${rules_path}]
scrape_configs: [{job_name: tidemark, metrics_path: /, static_configs: [{targets: ['127.0.0.1:${page.port}']}]}]
`,
    )
    const port = freePort()
    const prometheus = Bun.spawn(
      [
        PROMETHEUS,
        `--config.file=${config_path}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdout: 'ignore', stderr: 'ignore' },
    )
    const ask = async (
      path: string,
    ): Promise<{
      data?: { result?: unknown[]; groups?: { rules: Record<string, unknown>[] }[] }
    }> => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => null)
      return !answer?.ok ? {} : JSON.parse(await answer.text())
    }
    const query = async (expr: string) =>
      (await ask(`query?query=${encodeURIComponent(expr)}`)).data?.result
    try {
      await askUntil(
        () => query('count_over_time(tidemark_ready[10s]) > 2'),
        (result) => (result ?? []).length > 0,
      )
      for (const expr of panelQueries) {
        const filled = expr.replaceAll('$job', 'tidemark').replaceAll('$__rate_interval', '10s')
        expect([filled, Array.isArray(await query(filled))]).toEqual([filled, true])
      }
      const evaluated = (await ask('rules')).data?.groups?.[0]?.rules ?? []
      expect(evaluated.map(({ name, health }) => [name, health].join(' '))).toEqual(
        rules.map(({ alert }) => `${alert} ok`),
      )
      expect(evaluated.filter(({ state }) => state === 'firing')).toEqual([])
    } finally {
      prometheus.kill()
      await prometheus.exited
      void page.stop(true)
      rmSync(folder, { recursive: true, force: true })
    }
  }, 60_000)
})
