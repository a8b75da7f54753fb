/** Servers for tests: started with `startTidemark` and with `serve --ephemeral`, as other projects do. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { PostHog } from 'posthog-node'
import { startTidemark, type TestServer } from '../../src/testing/start.ts'
import { commandLine, ENVIRONMENT, run } from '../cli/command.ts'
import { limitTests, longTest } from '../long-tests.ts'
import { rejectionOf } from '../rejection.ts'

limitTests(60_000)

/** Sends one event as an SDK does; returns the status. */
async function capture(
  { url, project_token }: Pick<TestServer, 'project_token' | 'url'>,
  event: string,
): Promise<number> {
  const body = JSON.stringify({ api_key: project_token, event, distinct_id: 'ada' })
  return (await fetch(`${url}/capture/`, { method: 'POST', body })).status
}

describe('startTidemark', () => {
  test('shows events right after an SDK has sent them, and answers HogQL', async () => {
    await using server = await startTidemark()
    const client = new PostHog(server.project_token, { host: server.url, disableGeoip: true })
    client.capture({ distinctId: 'ada', event: 'signed up', properties: { plan: 'free' } })
    await client.shutdown()

    const events = await server.events()
    expect(events).toMatchObject([
      { event: 'signed up', distinct_id: 'ada', properties: { plan: 'free' } },
    ])
    expect(await capture(server, 'signed up')).toBe(200)
    expect(await server.query('select event, count() from events group by event')).toEqual([
      ['signed up', 2],
    ])
    expect(await rejectionOf(server.query('select no_such_column from events'))).toMatchObject({
      message: expect.stringContaining('no_such_column'),
    })
  })

  test('servers that run at the same time do not meet', async () => {
    const servers = await Promise.all([startTidemark(), startTidemark()])
    const [one, other] = servers
    expect(await capture(one, 'one')).toBe(200)
    expect(await capture(other, 'other')).toBe(200)
    const names = await Promise.all(servers.map((server) => server.events()))
    expect(names.map((events) => events.map(({ event }) => event))).toEqual([['one'], ['other']])
    expect(await capture({ ...one, project_token: other.project_token }, 'lost')).toBe(401)
    await Promise.all(servers.map((server) => server.stop()))
  })

  test('has the keys it is given, and a clock that they can set, for received events and for now()', async () => {
    const keys = { project_token: 'phc_of_a_test', personal_api_key: 'phx_key_of_a_test_only' }
    await using server = await startTidemark({
      env: {
        TIDEMARK_BOOTSTRAP_API_TOKEN: keys.project_token,
        TIDEMARK_BOOTSTRAP_PERSONAL_API_KEY: keys.personal_api_key,
      },
    })
    expect(server).toMatchObject(keys)
    const body = JSON.stringify({ now: null })
    expect((await fetch(`${server.url}/_clock`, { method: 'PUT', body })).status).toBe(401)
    await server.setClock('2031-05-06T07:08:09Z')
    expect(await capture(server, 'later')).toBe(200)
    const [event] = await server.events()
    expect(event?.timestamp).toStartWith('2031-05-06T07:')
    expect(await server.query('select toYear(now())')).toEqual([[2031]])
    await server.setClock(new Date('2020-02-29T00:00:00Z'))
    expect(await server.query('select toDate(now())')).toEqual([['2020-02-29']])
    await server.setClock(null)
    expect(await server.query('select toYear(now())')).toEqual([[new Date().getUTCFullYear()]])
    expect(await rejectionOf(server.setClock('next week'))).toMatchObject({
      message: expect.stringContaining('ISO 8601'),
    })
  })

  test('takes settings, and says why it does not start', async () => {
    expect(
      await rejectionOf(startTidemark({ env: { TIDEMARK_QUERY_MEMORY_MB: 'much' } })),
    ).toMatchObject({ message: expect.stringContaining('TIDEMARK_QUERY_MEMORY_MB') })
  })

  longTest('stops with its block, and nothing of it stays', async () => {
    let url = ''
    {
      await using server = await startTidemark()
      ;({ url } = server)
      expect((await fetch(`${url}/_health`)).status).toBe(200)
    }
    expect(await rejectionOf(fetch(`${url}/_health`))).toBeInstanceOf(Error)
  })
})

describe('serve --ephemeral', () => {
  test('prints one line of JSON, and removes its folder when its standard input ends', async () => {
    const child = startEphemeral()
    const reader = child.stdout.getReader()
    const line = new TextDecoder().decode((await reader.read()).value)
    const { data_dir, ...keys } = JSON.parse(line)
    expect(keys).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      project_id: 1,
      project_token: expect.stringMatching(/^phc_/),
      personal_api_key: expect.stringMatching(/^phx_/),
    })
    expect(existsSync(data_dir)).toBe(true)
    expect(await capture({ ...keys, project_token: 'phc_unknown' }, 'lost')).toBe(401)
    expect(await capture(keys, 'kept')).toBe(200)
    await child.stdin.end()
    expect(await child.exited).toBe(0)
    expect((await reader.read()).done).toBe(true)
    expect(existsSync(data_dir)).toBe(false)
  })

  test('ends when its parent is killed', async () => {
    const script = `const { startTidemark } = await import('${import.meta.dir}/../../src/testing/start.ts')
console.log((await startTidemark()).url)
setInterval(() => undefined, 1000)`
    const parent = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stdin: 'ignore' })
    const { value } = await parent.stdout.getReader().read()
    const url = new TextDecoder().decode(value).trim()
    expect((await fetch(`${url}/_health`)).status).toBe(200)
    parent.kill('SIGKILL')
    await parent.exited
    while (await fetch(`${url}/_health`).then(Boolean, () => false)) await Bun.sleep(50)
  })

  test('refuses a data folder', async () => {
    const { exit_code, err } = await run(['serve', '--ephemeral', '--data-dir', '/nowhere'])
    expect(exit_code).toBe(2)
    expect(err).toContain('--data-dir')
  })
})

function startEphemeral() {
  return Bun.spawn(commandLine(['serve', '--ephemeral']), {
    env: ENVIRONMENT,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
}
